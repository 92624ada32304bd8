import { describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Args, Caught, Way } from './ranks/caught.js';

const module = new URL('./ranks/caught.ts', import.meta.url);
// A rank that waits in vain would wait for the collective's five minutes.
const run = (ranks: number, args: Args) =>
  onRanks<Caught[]>({ module, ranks, args, env: { OMP_NUM_THREADS: '1' } });

const PLAIN: Way = { axis: 'data', precision: 'no' };
const BF16: Way = { axis: 'data', precision: 'bf16' };
const IN_PARTS: Way = { axis: 'tensor', precision: 'bf16' };

/** The error on a rank, given the failing stage and the stages. */
const expected = (rank: number, failing: number, where: string) =>
  rank === failing
    ? 'own: the culprit'
    : `ACC_PIPELINE_FAILED: Rank ${failing} failed in ${where}: the culprit`;

describe('a failed loss or layer whose error the program catches is told on all ranks', () => {
  it.each([
    ['1f1b', 2, 2, 2, [PLAIN]],
    ['zeroBubble', 2, 2, 2, [BF16]],
    ['gpipe', 3, 3, 3, [PLAIN]],
    ['interleaved', 2, 4, 2, [PLAIN]],
    ['1f1b', 2, 2, 4, [PLAIN, IN_PARTS]],
  ] as const)(
    '%s, %i ranks in a pipeline, %i stages, %i ranks, %j',
    async (schedule, pipeline, stages, ranks, ways) => {
      const args = { pipeline, schedule, stages, ways };
      const found = await run(ranks, { ...args, fails: true });
      const reference = await run(ranks, { ...args, fails: false });
      const last = stages - 1;
      const ofLoss = last % pipeline;
      const stageOfD = stages === 4 ? 2 : 1;
      for (const [i, rank] of ways.flatMap((_, i) => found.map((__, rank) => [i, rank] as const))) {
        const { errors, losses, leaked } = found[rank]![i]!;
        const { precision } = ways[i]!;
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
        expect(losses).toEqual(reference[rank]![i]!.losses);
        expect(leaked).toBe(0);
      }
    },
  );
});
