/**
 * Programs with one cause each that holds them back, and the same programs without it (`mended`), whose time
 * shows what the change gains. `expected`: ids of findings that name the cause.
 */
const STEPS = 130;
const base = { steps: STEPS };
const UNEVEN_STAGES = [
  ['layer0', 'layer1', 'layer2', 'layer3', 'layer4'],
  ['layer5', 'head'],
];

const sick = (name, expected, given) => ({
  ...{ name, expected, ranks: 1, threads: 1 },
  ...given,
  sick: { ...base, ...given.both, ...given.sick },
  mended: { ...base, ...given.both, ...given.mended },
});

export const CASES = [
  sick('loader reads slowly', ['data-bound'], {
    both: { samples: { readMs: 20 } },
    mended: { options: { dataLoader: { prefetch: 2 } } },
  }),
  sick('loader decodes on the main thread', ['data-bound'], {
    both: { samples: { rounds: 20 } },
    mended: { numWorkers: 1 },
  }),
  sick('weights as text in each step', ['loop-code'], {
    sick: { printEvery: 1 },
    mended: { printEvery: 100 },
  }),
  sick('an evaluation every 5 steps', ['loop-code'], { sick: { evaluateEvery: 5 }, mended: {} }),
  sick('small model that is not compiled', ['launch-bound'], {
    both: { hidden: 32, layers: 6, batch: 16 },
    mended: { compiles: true },
  }),
  sick('a compiled step that reads its loss', ['not-replayed'], {
    both: { hidden: 32, layers: 6, batch: 16, compiles: true },
    sick: { readsInStep: true },
    mended: {},
  }),
  // So wide that the JavaScript between kernels is a small part.
  sick('batches of one sample', ['small-products'], {
    both: { hidden: 2048, steps: 80 },
    sick: { batch: 1 },
    mended: { batch: 4 },
  }),
  sick('a checkpoint every 20 steps', ['checkpoint-stall'], {
    both: { saveEvery: 20, hidden: 1024, batch: 16 },
    mended: { options: { checkpoint: { async: true, keepLast: 1 } } },
    sick: { options: { checkpoint: { keepLast: 1 } } },
  }),
  sick('objects for the garbage collector', ['gc'], { sick: { garbage: 50_000 }, mended: {} }),
  sick('activations computed again', ['recompute-needless'], {
    both: { layers: 6, steps: 60 },
    sick: { options: { checkpointEvery: 2 } },
    mended: {},
  }),
  sick('rank 1 computes twice as much', ['slow-rank'], {
    ranks: 2,
    sick: { passesOfRank1: 2 },
  }),
  sick('rank 1 pauses in each step', ['slow-rank'], { ranks: 2, sick: { pauseOfRank1: 20 }, mended: {} }),
  sick('work that changes from rank to rank', ['uneven-work'], {
    ranks: 2,
    sick: { passesByTurn: [3, 1] },
    mended: { passesByTurn: [2, 2] },
  }),
  sick('rank 1 makes no call any more', ['hang'], { ranks: 2, mayFail: true, sick: { stopsRank1At: 60 } }),
  sick('weights in shards that would fit', ['wrong-strategy'], {
    ranks: 2,
    both: { batch: 8, hidden: 1024 },
    sick: { options: { strategy: 'fsdp' } },
    mended: { options: { strategy: 'ddp' } },
  }),
  sick('as many micro-batches as stages', ['bubble'], {
    ranks: 2,
    both: { isPipelined: true, batch: 512, layers: 6, steps: 60 },
    sick: { options: { mesh: { pipeline: 2 }, pipeline: { microBatches: 2 } } },
    mended: { options: { mesh: { pipeline: 2 }, pipeline: { microBatches: 8 } } },
  }),
  sick('a stage with most of the layers', ['stage-imbalance'], {
    ranks: 2,
    both: { isPipelined: true, batch: 256, layers: 6 },
    sick: {
      options: { mesh: { pipeline: 2 }, pipeline: { microBatches: 8, stages: UNEVEN_STAGES } },
    },
    mended: { options: { mesh: { pipeline: 2 }, pipeline: { microBatches: 8 } } },
  }),
  sick('the same samples on all ranks', ['same-batches'], { ranks: 2, sick: { sharesSamples: true } }),
  sick('buckets of 4 KiB', ['small-buckets'], {
    ranks: 2,
    both: { batch: 8, layers: 12, hidden: 256 },
    sick: { options: { ddp: { bucketBytes: 4096 } } },
  }),
  sick('gradients reduced after each micro-batch', ['reduce-each-micro'], {
    ranks: 2,
    both: { accumulates: true, batch: 4, hidden: 1024 },
    sick: { options: { gradientAccumulationSteps: 4, ddp: { syncEachBatch: true } } },
    mended: { options: { gradientAccumulationSteps: 4 } },
  }),
  sick('2 ranks of 2 threads', ['oversubscribed'], {
    ranks: 2,
    threads: { sick: 2, mended: 1 },
  }),
  sick('tensors that stay', ['leak'], { sick: { leaks: true } }),
  sick('log of a negative number', ['non-finite'], { sick: { nanFrom: 100 } }),
  // Units die by updates that are too large.
  sick('learning rate times 10,000', ['loss-spike', 'non-finite', 'not-learning', 'dead-units'], {
    sick: { learningRate: 1 },
  }),
  sick('learning rate by 10,000', ['not-learning'], { sick: { learningRate: 1e-8 } }),
  sick('losses that are 1,000 times as large', ['exploding'], { sick: { outliersEvery: 30 } }),
  sick('a loss scale that grows every 5 steps', ['fp16-scale'], {
    both: { batch: 128, hidden: 512 },
    sick: {
      options: { mixedPrecision: 'fp16', amp: { lossScale: { initial: 2 ** 24, growthInterval: 5 } } },
    },
    mended: { options: { mixedPrecision: 'fp16' } },
  }),
  sick('dead ReLUs', ['dead-units'], { sick: { bias: -10, learningRate: 1e-5 } }),
  sick('shuffled labels', ['not-learning'], { sick: { isRandom: true } }),
  sick('predictions every 5 steps', ['eval-heavy'], {
    both: { predicts: true },
    sick: { evaluateEvery: 5 },
    mended: { evaluateEvery: 10 },
  }),
  sick('values of all weights in each step', ['sync-read'], {
    both: { hidden: 2048, layers: 4, batch: 16, steps: 60 },
    sick: { readEvery: 1 },
    mended: { readEvery: 1000 },
  }),
  sick('a tracker that keeps the main thread', ['logging-slow'], {
    both: { trackerMs: 20 },
    sick: { logEvery: 1 },
    mended: { logEvery: 10 },
  }),
  sick('a number with 12 values in a compiled step', ['re-recording'], {
    both: { hidden: 64, layers: 12, batch: 32, compiles: true, learningRate: 3e-4 },
    sick: { numbers: 12 },
    mended: {},
  }),
  sick('one thread of two processors', ['idle-cores'], {
    threads: { sick: 1, mended: 2 },
    both: { batch: 256, hidden: 1024 },
  }),
  sick('other programs from step 60 on', ['cpu-steal', 'slowdown-since'], {
    both: { batch: 256 },
    sick: { busyFrom: 60 },
    mended: {},
  }),
  sick('objects of rank 1 for the garbage collector', ['gc', 'slow-rank'], {
    ranks: 2,
    sick: { garbageOfRank1: 50_000 },
    mended: {},
  }),
  sick('gradients reduced after the backward pass', ['no-overlap'], {
    ranks: 2,
    both: { batch: 8, hidden: 1024 },
    sick: { options: { ddp: { syncAt: 'apply' } } },
    mended: {},
  }),
  sick('one bucket of all gradients', ['last-bucket'], {
    ranks: 2,
    both: { batch: 8, hidden: 1024, layers: 6 },
    sick: { options: { ddp: { bucketBytes: 2 ** 28 } } },
    mended: { options: { ddp: { bucketBytes: 6 * 2 ** 20 } } },
  }),
  sick('gradients of few samples', ['accumulate-more', 'batch-small'], {
    ranks: 2,
    both: { batch: 8, hidden: 1024, accumulates: true, noise: 0.8 },
    sick: {},
    mended: { options: { gradientAccumulationSteps: 4 } },
  }),
  sick('state in files that would fit', ['memory-headroom'], {
    ranks: 2,
    both: { batch: 64, hidden: 1024, options: { strategy: 'fsdp' } },
    sick: { offloads: true },
    mended: {},
  }),
  sick('a deep net of sigmoids', ['vanishing'], {
    sick: { layers: 14, hidden: 64, activation: 'sigmoid' },
  }),
  sick('a weight without a part in the loss', ['unused-weights'], {
    ranks: 2,
    both: { batch: 256 },
    sick: { hasUnusedBranch: true },
  }),
  sick('weights of rank 1 that were changed', ['ranks-differ'], { ranks: 2, sick: { changesRank1At: 50 } }),
  sick('batches of 4 samples', ['batch-small', 'small-products'], {
    ranks: 2,
    both: { batch: 2, hidden: 1024, noise: 0.8, steps: 200 },
  }),
  sick('experts that get few samples', ['expert-imbalance'], {
    both: { hidden: 128, experts: { count: 8, skew: 10 } },
  }),
];

const healthy = (name, given) => ({
  name,
  expected: [],
  ranks: 1,
  threads: 1,
  ...given,
  sick: { ...base, ...given.both },
});

export const HEALTHY = [
  // With fewer threads, processors would be idle.
  healthy('compiled MLP', { threads: 2, both: { compiles: true } }),
  healthy('wide MLP', { threads: 2, both: { batch: 256 } }),
  healthy('ddp', { ranks: 2, both: { batch: 256 } }),
  healthy('fsdp', { ranks: 2, both: { batch: 256, options: { strategy: 'fsdp' } } }),
  healthy('wide MLP with a checkpoint and an evaluation', {
    threads: 2,
    both: { batch: 256, saveEvery: 100, evaluateEvery: 100 },
  }),
];
