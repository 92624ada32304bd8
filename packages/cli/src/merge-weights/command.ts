import type { Command } from 'commander';
import { formatSize, parseSize } from '../byte-sizes.js';

interface MergeFlags {
  readonly maxShardSize?: number;
}

/** Adds the command `merge-weights` to the program. */
export function addMergeWeightsCommand(program: Command): void {
  program
    .command('merge-weights')
    .description('merge the weights of a sharded checkpoint into one safetensors file')
    .argument('<checkpoint>', 'a folder that saveState wrote')
    .argument('<folder>', 'the folder for model.safetensors')
    .option(
      '--max-shard-size <SIZE>',
      'largest size of a file, such as 500MB or 5GB (default: one file)',
      parseSize,
    )
    .action(async (checkpoint: string, folder: string, flags: MergeFlags) => {
      const { mergeWeights } = await import('@acc/checkpoint');
      const { files, tensors, quantized, bytes } = await mergeWeights(checkpoint, folder, flags);
      process.stdout.write(`${tensors} tensors, ${formatSize(bytes)}: ${files.join(', ')} in ${folder}\n`);
      if (quantized === 0) return;
      process.stdout.write(
        `${quantized} of them are records of quantized weights, which other tools cannot read. Load them with loadModel.\n`,
      );
    });
}
