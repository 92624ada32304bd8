import { InvalidArgumentError, type Command } from 'commander';

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
      const { files, tensors, bytes } = await mergeWeights(checkpoint, folder, flags);
      process.stdout.write(`${tensors} tensors, ${formatSize(bytes)}: ${files.join(', ')} in ${folder}\n`);
    });
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Parses a size in bytes. @throws InvalidArgumentError for an invalid size. */
export function parseSize(text: string): number {
  const [, digits, unit = 'B'] = /^(\d+(?:\.\d+)?)\s*([KMGT]?B)?$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(digits) * 1000 ** UNITS.indexOf(unit.toUpperCase()));
  if (bytes > 0) return bytes;
  throw new InvalidArgumentError('Expected a size such as 500MB or 5GB.');
}

export function formatSize(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${UNITS[power]}`;
}
