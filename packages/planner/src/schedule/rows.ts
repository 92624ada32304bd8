import {
  backward,
  forward,
  upTo,
  weights,
  type Action,
  type PipelineShape,
  type ScheduleName,
} from './action.js';

type RowsOf = (rank: number, shape: PipelineShape) => Action[];

/**
 * GPipe (Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline
 * Parallelism", NeurIPS 2019): all forward passes, then all backward passes. Every rank keeps the
 * activations of all micro-batches.
 */
const gpipe: RowsOf = (rank, { microBatches }) => [
  ...upTo(microBatches).map((i) => forward(rank, i)),
  ...upTo(microBatches).map((i) => backward(rank, i)),
];

/**
 * One forward, one backward (PipeDream-Flush: Narayanan et al., "Memory-Efficient Pipeline-Parallel
 * DNN Training", ICML 2021). Each rank begins backward as early as it can. It keeps the activations
 * of at most `ranks - rank` micro-batches.
 */
const oneForwardOneBackward: RowsOf = (rank, { ranks, microBatches }) =>
  alternating(
    upTo(microBatches).map((i) => forward(rank, i)),
    upTo(microBatches).map((i) => backward(rank, i)),
    ranks - rank - 1,
  );

/**
 * Interleaved 1F1B (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
 * Using Megatron-LM", SC 2021, section 2.2): each rank has several stages. Micro-batches go through
 * them in groups of `ranks`.
 */
const interleaved: RowsOf = (rank, { ranks, chunks, microBatches }) => {
  const order = upTo(Math.ceil(microBatches / ranks)).flatMap((group) => {
    const members = upTo(microBatches).slice(group * ranks, (group + 1) * ranks);
    return upTo(chunks).flatMap((chunk) => members.map((microBatch) => ({ chunk, microBatch })));
  });
  const forwards = order.map(({ chunk, microBatch }) => forward(chunk * ranks + rank, microBatch));
  const backwards = order.map(({ chunk, microBatch }) =>
    backward((chunks - 1 - chunk) * ranks + rank, microBatch),
  );
  return alternating(forwards, backwards, 2 * (ranks - rank - 1) + (chunks - 1) * ranks);
};

/**
 * Zero bubble ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024): backward is split,
 * and the gradients of weights fill the time in which 1F1B waits. No rank keeps the activations of
 * more micro-batches than rank 0 does in 1F1B.
 */
const zeroBubble: RowsOf = (rank, shape) => {
  const { microBatches } = shape;
  let delayed = 0;
  const row = oneForwardOneBackward(rank, shape).flatMap((action) => {
    if (action.kind === 'forward') return [action];
    return action.microBatch < rank ? [action] : [action, weights(rank, delayed++)];
  });
  return [...row, ...upTo(microBatches - delayed).map((i) => weights(rank, delayed + i))];
};

export const ROWS: Readonly<Record<ScheduleName, RowsOf>> = {
  gpipe,
  '1f1b': oneForwardOneBackward,
  interleaved,
  zeroBubble,
};

/** `ahead` forwards, then forward and backward in turn, then the backwards that are left. */
function alternating(forwards: readonly Action[], backwards: readonly Action[], ahead: number): Action[] {
  const first = Math.min(ahead, forwards.length);
  const steady = forwards.slice(first).flatMap((action, i) => [action, backwards[i]!]);
  return [...forwards.slice(0, first), ...steady, ...backwards.slice(forwards.length - first)];
}
