// The table of what goes together. `create` and calls ask it, the page shows it, and tests enumerate it.

/** Parts of a run that may exclude each other, with the names that messages and documents give them. */
export const FEATURES = {
  data: 'mesh.data',
  fsdp: 'fsdp',
  tensor: 'mesh.tensor',
  context: 'mesh.context',
  expert: 'mesh.expert',
  pipeline: 'mesh.pipeline',
  single: "strategy: 'single'",
  ownStrategy: 'a strategy of your own',
  ownSharding: 'a strategy of your own that shards',
  sharedRows: 'a strategy of your own on ranks that share rows',
  deterministic: 'deterministic',
  mixedPrecision: 'mixedPrecision',
  clipping: 'gradientClipping',
  accumulation: 'gradientAccumulationSteps',
  checkpoints: 'checkpointEvery',
  commHook: 'ddp.commHook',
  hookState: 'a ddp.commHook that keeps state',
  syncAtApply: "ddp.syncAt: 'apply'",
  syncEachBatch: 'ddp.syncEachBatch',
  batchNorm: "ddp.batchNorm other than 'sync'",
  fsdpPrecision: 'fsdp.mixedPrecision',
  offload: 'fsdp.offload',
  dispatchBatches: 'dataLoader.dispatchBatches',
  compile: 'compile',
  join: 'joinUnevenInputs',
  apart: 'LocalSGD or DiLoCo',
  noSync: 'an optimizer step inside noSync',
  weighLoss: 'weighLoss',
  noiseScale: 'gradientNoiseScale',
  autoLog: 'autoLog',
  dispatchModel: 'dispatchModel',
  adafactor: 'adafactor',
  stateBits: 'stateBits',
  quantized: 'quantized weights',
} as const satisfies Readonly<Record<string, string>>;

export type Feature = keyof typeof FEATURES;

/** Features that one implies: a run with it also has the others. */
export const INCLUDED: Partial<Readonly<Record<Feature, readonly Feature[]>>> = {
  hookState: ['commHook'],
  syncEachBatch: ['accumulation'],
  offload: ['fsdp'],
  ownSharding: ['ownStrategy'],
  sharedRows: ['ownStrategy'],
};

/** Features that do not go together. */
export interface Refusal {
  /** It holds for a run that has all of them. */
  readonly of: readonly Feature[];
  readonly code:
    'ACC_DETERMINISTIC_UNSUPPORTED' | 'ACC_STRATEGY_CANNOT' | 'ACC_INVALID_OPTION' | 'ACC_QUANTIZED_PLACE';
  /** Why, as a sentence. */
  readonly reason: string;
}

/** The axes whose ranks have the same rows, and other parts of a model. */
const MODEL_AXES: readonly Feature[] = ['tensor', 'pipeline'];
/** Each of them divides weights, their gradients and the state of optimizers. */
const SHARDING: readonly Feature[] = ['fsdp', ...MODEL_AXES, 'expert', 'ownSharding'];

const REPLICATED = 'Every rank needs all weights, gradients and optimizer state, which are divided.';
const ROWS = 'Every rank needs rows of its own, and these ranks share rows.';
const PIECES = 'Sums over parts of a model or a sequence depend on the number of ranks.';

/**
 * Everything that does not go together, among the parts of a run that {@link Feature} lists. All other
 * combinations work.
 */
export const REFUSALS: readonly Refusal[] = [
  ...deterministic(['fsdp'], 'Sums of shards depend on the number of ranks.'),
  ...deterministic([...MODEL_AXES, 'context'], PIECES),
  ...deterministic(['expert'], 'Which rows share an expert depends on the number of ranks.'),
  ...deterministic(['single', 'ownStrategy'], 'Only the sums of ddp are the same on any number of ranks.'),
  ...deterministic(['commHook'], 'Sums are rounded differently for each number of ranks.'),
  ...deterministic(['fsdpPrecision'], 'Sums are rounded differently for each number of ranks.'),
  ...deterministic(['syncAtApply'], 'Gradients are summed in the order of the rows during backward.'),
  ...deterministic(['batchNorm'], 'Statistics of one rank depend on the number of ranks.'),
  ...deterministic(
    ['dispatchBatches'],
    'Deterministic training gives each rank its rows by their place in the data.',
  ),
  ...deterministic(['weighLoss'], 'Weights of items depend on the ranks that have them.'),
  ...deterministic(['join', 'apart', 'noSync'], 'Weights depend on the number of ranks.'),

  ...cannot('offload', ['pipeline'], 'The values of a stage stay in memory.'),
  ...pairs('ACC_INVALID_OPTION', 'offload', ['expert'], 'A rank has the weights of its own experts only.'),
  ...cannot('hookState', ['pipeline'], 'The state belongs to buckets, which differ between stages.'),
  ...cannot('syncAtApply', ['pipeline'], 'A pipelined step sums gradients at its end.'),
  ...cannot('syncAtApply', ['expert'], 'Gradients of experts are summed during backward.'),

  ...cannot('compile', ['offload'], 'Offload moves values away between operators.'),
  ...cannot('compile', ['expert'], 'Ranks exchange numbers of rows that depend on the data.'),
  ...MODEL_AXES.map((axis): Refusal => {
    const reason = 'Values that are gathered for an operator are divided along both axes.';
    return { of: ['compile', 'fsdp', axis], code: 'ACC_STRATEGY_CANNOT', reason };
  }),

  ...cannot('join', SHARDING, REPLICATED),
  ...cannot('join', ['context', 'sharedRows'], ROWS),
  ...cannot(
    'join',
    ['syncEachBatch'],
    'Windows of ranks may end in different micro-batches, and weights would differ.',
  ),
  ...cannot('apart', SHARDING, REPLICATED),
  ...cannot('apart', ['context', 'sharedRows'], ROWS),
  ...cannot('noSync', SHARDING, REPLICATED),
  ...cannot('dispatchModel', SHARDING, 'The weights are divided over ranks.'),
  ...cannot('noiseScale', ['context'], 'A rank has the gradient of a shard of each sample.'),
  ...cannot(
    'adafactor',
    MODEL_AXES,
    'The state of adafactor has means over rows and columns of whole weights.',
  ),
  ...cannot('stateBits', ['offload'], 'Files have float32 state.'),
  ...cannot(
    'stateBits',
    ['tensor', 'expert', 'ownSharding'],
    'Blocks of packed state do not end where the parts of a weight end.',
  ),
  {
    of: ['stateBits', 'fsdp', 'pipeline'],
    code: 'ACC_STRATEGY_CANNOT',
    reason: 'A stage divides the state that it has loaded by elements.',
  },

  ...pairs('ACC_QUANTIZED_PLACE', 'quantized', ['tensor'], 'The axis divides float32 values of a weight.'),
  ...pairs('ACC_QUANTIZED_PLACE', 'quantized', ['pipeline'], 'Stages have float32 values of their weights.'),
  ...pairs('ACC_QUANTIZED_PLACE', 'quantized', ['ownSharding'], 'It divides float32 values of a weight.'),
  ...pairs('ACC_QUANTIZED_PLACE', 'quantized', ['dispatchModel'], 'Packed weights stay in memory.'),
];

function deterministic(others: readonly Feature[], reason: string): Refusal[] {
  return pairs('ACC_DETERMINISTIC_UNSUPPORTED', 'deterministic', others, reason);
}

function cannot(feature: Feature, others: readonly Feature[], reason: string): Refusal[] {
  return pairs('ACC_STRATEGY_CANNOT', feature, others, reason);
}

function pairs(
  code: Refusal['code'],
  feature: Feature,
  others: readonly Feature[],
  reason: string,
): Refusal[] {
  return others.map((other) => ({ of: [feature, other], code, reason }));
}
