import { expect, it } from 'vitest';
import { syntheticRun } from '../synthetic.js';
import { diagnoseRun } from './diagnose.js';

it('the finding of a hang names the rank that is in no collective, and the step', () => {
  interface Hung {
    readonly isIn: number;
    readonly calls: number;
    readonly seconds: number;
    /** It makes calls for so many seconds. */
    readonly from?: number;
    readonly fails?: boolean;
  }
  const hung = (ranks: readonly Hung[]) => {
    const recorded = syntheticRun({ ranks: ranks.length });
    const after = recorded.ranks.map((rank, i) => {
      const { isIn, calls, seconds, from = 0, fails = false } = ranks[i]!;
      const still = Array.from({ length: 4 * seconds }, (_, k) => ({
        ...rank.samples.at(-1)!,
        ...{ time: 1300 + 250 * k, collectives: k < 4 * from ? 400 + k : calls, isInCollective: isIn },
      }));
      if (fails) still.at(-1)!.isInCollective = 0;
      return { ...rank, samples: [...rank.samples, ...still] };
    });
    return diagnoseRun({ ranks: after, problems: [] }).findings;
  };
  const waiting = { isIn: 1, calls: 500, seconds: 20 };
  const [found, ...others] = hung([waiting, { ...waiting, isIn: 0, calls: 499 }]);
  expect([found!.id, found!.ranks, found!.since!.step, others]).toEqual(['hang', [1], 122, []]);
  expect(found!.cause).toBe('Rank 1 makes no collective call any more, and rank 0 waits in one.');
  expect(hung([waiting, { ...waiting, calls: 499 }])[0]!.ranks).toEqual([1]);
  expect(hung([waiting, waiting])[0]!.ranks).toEqual([0, 1]);
  // A long evaluation on all ranks, and a rank that goes on.
  expect(
    hung([
      { ...waiting, isIn: 0 },
      { ...waiting, isIn: 0 },
    ]),
  ).toEqual([]);
  expect(hung([waiting, { ...waiting, isIn: 0, from: 15 }])).toEqual([]);
  // Its call fails at the end, and the other rank has ended long before.
  const ended = { isIn: 0, calls: 499, seconds: 1 };
  expect(hung([{ ...waiting, fails: true }, ended])[0]!.ranks).toEqual([1]);
  expect(hung([waiting, { ...ended, seconds: 0 }])[0]!.ranks).toEqual([1]);
  const { ranks } = syntheticRun({ ranks: 2 });
  const silent = diagnoseRun({ ranks: [ranks[0]!, { ...ranks[1]!, samples: [] }], problems: [] });
  expect(silent.notJudged).toContainEqual({ id: 'hang', reason: 'no sample of each process' });
});
