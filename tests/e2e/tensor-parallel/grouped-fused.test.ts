import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Case, Trained } from './ranks/models.js';

// One matrix makes queries, keys and values, of fewer heads than those of queries.
const GROUPED = { model: 'grouped', plan: 'auto', steps: 6 } as const;
const CASES: readonly Case[] = [
  GROUPED,
  { ...GROUPED, kvHeads: 3 },
  { ...GROUPED, dropout: 0.2 },
  { ...GROUPED, options: { gradientClipping: { norm: 0.5 } } },
  { ...GROUPED, compile: {} },
];

const train = (ranks: number, cases: readonly Case[]) =>
  onRanks<Trained[]>({
    module: new URL('./ranks/models.ts', import.meta.url),
    ranks,
    args: cases,
    env: { OMP_NUM_THREADS: '1' },
  });

let alone: Trained[];
beforeAll(async () => {
  [alone] = (await train(1, CASES)) as [Trained[]];
});

it.each([2, 3])(
  'heads of one matrix in groups train on %i ranks as in one process',
  async (ranks) => {
    const cut = CASES.map((each) => ({ ...each, mesh: { tensor: ranks } }));
    for (const each of await train(ranks, cut)) {
      each.forEach(({ losses, weights, left }, i) => {
        expectClose(losses, alone[i]!.losses, { rtol: 1e-4 });
        expectClose(weights, alone[i]!.weights, { rtol: 1e-4, atol: 1e-5 });
        expect(left).toBeLessThanOrEqual(1);
      });
      // A block sends two sums and its queries. Ranks that do not divide the heads of keys have whole
      // matrices of attention.
      const calls = each.map(({ sentForward }) => sentForward['tensor']!.calls);
      expect(calls.slice(0, 2)).toEqual([2 * 3 + 1, ranks === 2 ? 2 + 1 : 2 * 3 + 1]);
      expect(each[4]!.replays).toBeGreaterThan(0);
    }
  },
  340_000,
);
