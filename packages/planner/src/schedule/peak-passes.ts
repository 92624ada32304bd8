import { upTo, type PipelineShape, type ScheduleName } from './action.js';

/** The most forward passes of each rank whose tensors are kept at one time, as `simulate` counts them. */
export function peakPassesOf(name: ScheduleName, { ranks, chunks, microBatches }: PipelineShape): number[] {
  const all = chunks * microBatches;
  const most = {
    gpipe: () => all,
    '1f1b': (rank: number) => ranks - rank,
    interleaved: (rank: number) => 2 * (ranks - rank - 1) + (chunks - 1) * ranks + 1,
    // Weights of the first micro-batches wait, as many of them as ranks come before.
    zeroBubble: () => ranks,
  }[name];
  return upTo(ranks).map((rank) => Math.min(all, most(rank)));
}
