import { describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Args, Caught } from './ranks/caught.js';

const module = new URL('./ranks/caught.ts', import.meta.url);
// A rank that waits in vain would wait for the collective's five minutes.
const run = (ranks: number, args: Args) =>
  onRanks<Caught>({ module, ranks, args, env: { OMP_NUM_THREADS: '1' } });

/** The error on a rank, given the failing stage and the stages. */
const expected = (rank: number, failing: number, where: string) =>
  rank === failing
    ? 'own: the culprit'
    : `ACC_PIPELINE_FAILED: Rank ${failing} failed in ${where}: the culprit`;

describe('a failed loss or layer whose error the program catches is told on all ranks', () => {
  it.each([
    ['1f1b', 2, 2, 2, 'no'],
    ['zeroBubble', 2, 2, 2, 'bf16'],
    ['gpipe', 3, 3, 3, 'no'],
    ['interleaved', 2, 4, 2, 'no'],
    ['1f1b', 2, 2, 4, 'no'],
  ] as const)(
    '%s, %i ranks in a pipeline, %i stages, %i ranks, %s',
    async (schedule, pipeline, stages, ranks, precision) => {
      const args = { pipeline, schedule, stages, precision };
      const found = await run(ranks, { ...args, fails: true });
      const reference = await run(ranks, { ...args, fails: false });
      const last = stages - 1;
      const ofLoss = last % pipeline;
      const stageOfD = stages === 4 ? 2 : 1;
      for (const [rank, { errors, losses, leaked }] of found.entries()) {
        const all = (failing: number, where: string) =>
          expected(rank, (failing * ranks) / pipeline, `${where} of ${stages}`);
        expect(errors).toEqual({
          ...(precision === 'no' && { 'loss 0': all(ofLoss, `the loss of micro-batch 0 in stage ${last}`) }),
          'loss 2': all(ofLoss, `the loss of micro-batch 2 in stage ${last}`),
          'a 1': all(0, 'forward of micro-batch 1 in stage 0'),
          'd 0': all(stageOfD % pipeline, `forward of micro-batch 0 in stage ${stageOfD}`),
          'd 3': all(stageOfD % pipeline, `forward of micro-batch 3 in stage ${stageOfD}`),
          'loss 3': all(ofLoss, `the loss of micro-batch 3 in stage ${last}`),
          replays: 'true',
          'loss 1': all(ofLoss, `the loss of micro-batch 1 in stage ${last}`),
        });
        expect(losses).toEqual(reference[rank]!.losses);
        expect(leaked).toBe(0);
      }
    },
    120_000,
  );
});
