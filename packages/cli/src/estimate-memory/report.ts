import { estimateMemory, type BatchSizes, type Estimate, type OptimizerName } from '@acc/planner/memory';
import { formatSize } from '../byte-sizes.js';
import { estimateOptions, modelOfNumbers, requireOneModel, type EstimateFlags } from './options.js';
import { readModel } from './read-model.js';

export interface Report {
  readonly model: {
    /** The path, or null if numbers were given. */
    readonly path: string | null;
    /** `gpt2` or `llama`. Null: activations are not known. */
    readonly kind: string | null;
    readonly parameters: number;
    readonly trainable: number;
  };
  readonly optimizer: OptimizerName;
  readonly stateBits: number;
  readonly batch: BatchSizes | null;
  /** The assumptions behind the figures. */
  readonly assumptions: readonly string[];
  readonly estimates: readonly Estimate[];
}

/** @param path The path of a model; undefined: `flags` has numbers. */
export async function report(path: string | undefined, flags: EstimateFlags): Promise<Report> {
  requireOneModel(path, flags);
  const model = path === undefined ? modelOfNumbers(flags.parameters!, flags) : await readModel(path);
  const options = estimateOptions(flags, model);
  const { parameters, trainable, architecture } = model;
  return {
    model: { path: path ?? null, kind: architecture?.kind ?? null, parameters, trainable },
    optimizer: options.optimizer,
    stateBits: options.stateBits ?? 32,
    batch: options.batch ?? null,
    assumptions: assumptionsOf(options.batch !== undefined, model.layerSizes !== undefined),
    estimates: estimateMemory(model, options),
  };
}

function assumptionsOf(hasActivations: boolean, hasUnits: boolean): string[] {
  return [
    'Sizes are bytes of tensors on each rank: not those of Node.js, libtorch, and the cache of freed memory.',
    'single, ddp: what the Accelerator holds. float32 weights, gradients and optimizer state in every precision; ' +
      'mixed precision adds 16-bit copies of the weights of products during a step, counted with activations.',
    'zero-1, zero-2, zero-3: what the stages of fsdp hold, with its default units. Stages 1 and 2: all weights, and ' +
      'shards of gradients and optimizer state; stage 3: shards of all three. They differ in what a window of ' +
      'accumulation holds: stage 1 holds whole gradients, which are not counted here.',
    hasUnits
      ? 'gathered: whole units beside the shards, the three largest of gradients, and in stage 3 the two largest of weights.'
      : 'Layers are not known: units that are whole beside the shards come on top.',
    hasActivations
      ? 'activations: pre-norm transformer with fused attention, one-hot labels, no dropout, no activation ' +
        'checkpointing, one micro-batch a step. Gradients grow while activations shrink: the peak is less than their sum.'
      : 'Activations are not known for this model, and come on top of the peak.',
    'Bytes a parameter, with Adam. 16: float32 weights 4, gradients 4, moments 8; or by ZeRO 16-bit weights 2, gradients ' +
      '2, float32 weights 4, moments 8. 20: those 16 with float32 gradients (4) beside the 16-bit ones. 10: 16-bit ' +
      'weights 2, gradients 2, float32 weights 4, and moments in 8 bits (2).',
  ];
}

const HEADER = [
  'strategy',
  'ranks',
  'weights',
  'gradients',
  'optimizer',
  'a parameter',
  'activations',
  'gathered',
  'peak',
  'peak at',
];

/** Formats the report for people. Numbers of ranks with equal figures share a row. */
export function formatReport({ model, optimizer, stateBits, batch, assumptions, estimates }: Report): string {
  const { path, kind, parameters, trainable } = model;
  const count = (n: number) => n.toLocaleString('en-US');
  const facts = [
    `${path ?? 'numbers'}: ${count(parameters)} parameters`,
    ...(trainable < parameters ? [`${count(trainable)} trained`] : []),
    ...(kind ? [`kind ${kind}`] : []),
    ...(batch ? [`batch ${batch.batch} a rank, sequence ${count(batch.sequence)}`] : []),
    stateBits === 32 ? optimizer : `${optimizer} with state in ${stateBits} bits`,
  ];
  const precisions = [...new Set(estimates.map(({ precision }) => precision))];
  const tables = precisions.map((precision) => {
    const rows = rowsOf(estimates.filter((estimate) => estimate.precision === precision));
    return [precision, ...rows].join('\n');
  });
  return `${[facts.join(', '), ...tables, assumptions.map((text) => `- ${text}`).join('\n')].join('\n\n')}\n`;
}

function rowsOf(estimates: readonly Estimate[]): string[] {
  const rows = new Map<string, { cells: string[]; ranks: number[] }>();
  for (const estimate of estimates) {
    const cells = cellsOf(estimate);
    const key = cells.join('|');
    const row = rows.get(key);
    if (row) row.ranks.push(estimate.ranks);
    else rows.set(key, { cells, ranks: [estimate.ranks] });
  }
  const table = [
    HEADER,
    ...[...rows.values()].map(({ cells: [strategy = '', ...sizes], ranks }) => [
      strategy,
      ranks.join(', '),
      ...sizes,
    ]),
  ];
  const widths = HEADER.map((_, k) => Math.max(...table.map((row) => row[k]!.length)));
  return table.map((row) => `  ${row.map((cell, k) => padded(cell, k, widths[k]!)).join('  ')}`.trimEnd());
}

/** Sizes are aligned at the right. */
const padded = (cell: string, column: number, width: number): string =>
  column === 0 || column === HEADER.length - 1 ? cell.padEnd(width) : cell.padStart(width);

function cellsOf(estimate: Estimate): string[] {
  const { activationBytes, gatheredBytes } = estimate;
  return [
    estimate.strategy,
    formatSize(estimate.parameterBytes),
    formatSize(estimate.gradientBytes),
    formatSize(estimate.optimizerBytes),
    `${estimate.bytesPerParameter.toFixed(1)} B`,
    activationBytes === null ? '?' : formatSize(activationBytes),
    gatheredBytes === null ? '?' : gatheredBytes === 0 ? '–' : formatSize(gatheredBytes),
    formatSize(estimate.peakBytes),
    estimate.peakAt,
  ];
}
