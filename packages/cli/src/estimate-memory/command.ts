import type { Command } from 'commander';
import { parseCount } from '../counts.js';
import type { EstimateFlags } from './options.js';

/** Adds the command `estimate-memory` to the program. */
export function addEstimateMemoryCommand(program: Command): void {
  program
    .command('estimate-memory')
    .description('estimate the memory of a training, by precision, strategy and number of ranks')
    .argument('[model]', 'a config.json of the Hub, a model.json, a safetensors file, or a folder with one')
    .optionsGroup('Model:')
    .option('--parameters <N>', 'the number of parameters, in place of a model', parseCount)
    .option('--layers <N>', 'with --parameters: the layers of a transformer', parseCount)
    .option('--hidden <N>', 'with --parameters: its width', parseCount)
    .option('--heads <N>', 'with --parameters: its heads of attention', parseCount)
    .option('--vocab <N>', 'with --parameters: its vocabulary', parseCount)
    .optionsGroup('Training:')
    .option('--batch <N>', 'rows of one rank in a micro-batch (default: 1)', parseCount)
    .option('--sequence <N>', 'tokens of a row (default: the longest that the model takes)', parseCount)
    .option('--optimizer <NAME>', 'an optimizer of tfjs or of @acc/core', 'adamw')
    .option('--state-bits <N>', 'its stateBits: 32, 8 or 4 (default: 32)', parseCount)
    .option(
      '--mixed-precision <LIST>',
      'of no, bf16, fp16, int8 and fp8, which take the memory of bf16',
      parseNames,
      ['no', 'bf16'],
    )
    .option('--ranks <LIST>', 'numbers of ranks', parseCounts, [2, 4, 8])
    .option('--ranks-per-host <N>', 'ranks of a host (default: all are on one)', parseCount)
    .optionsGroup('Output:')
    .option('--json', 'as JSON')
    .action(async (path: string | undefined, { json, ...flags }: EstimateFlags & { json?: boolean }) => {
      const { report, formatReport } = await import('./report.js');
      const result = await report(path, flags);
      process.stdout.write(json ? `${JSON.stringify(result, undefined, 2)}\n` : formatReport(result));
    });
}

const parseNames = (text: string): string[] => [...new Set(text.split(',').map((name) => name.trim()))];

const parseCounts = (text: string): number[] => [...new Set(parseNames(text).map(parseCount))];
