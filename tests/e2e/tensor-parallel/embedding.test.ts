import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Case, Trained } from './ranks/models.js';

/** Each rank has columns of the table. A tied product with it is refused: a norm comes before it. */
const CASES = {
  'a row layer after it': { model: 'embedding', plan: { table: 'column', out: 'row' }, steps: 6 },
} satisfies Record<string, Case>;
const NAMES = Object.keys(CASES) as (keyof typeof CASES)[];

async function train(ranks: number): Promise<Trained[][]> {
  const cases = Object.values(CASES).map((each): Case => ({
    ...each,
    ...(ranks > 1 && { mesh: { tensor: ranks } }),
  }));
  const module = new URL('./ranks/models.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  return onRanks<Trained[]>({ module, ranks, args: cases, env });
}

let alone: Trained[];
beforeAll(async () => {
  [alone] = (await train(1)) as [Trained[]];
});

describe.each([2, 3])('columns of a table on %i ranks', (ranks) => {
  let found: Trained[][];
  beforeAll(async () => {
    found = await train(ranks);
  });

  it.each(NAMES.map((name, place) => [name, place] as const))(
    '%s: losses, and weights after steps with their gradients, are those of one process',
    (_, place) => {
      const expected = alone[place]!;
      expect(new Set(expected.losses).size).toBe(6);
      for (const ofRank of found) {
        const { losses, weights, dict, left, sent } = ofRank[place]!;
        expectClose(losses, expected.losses, { rtol: 1e-4 });
        expectClose(weights, expected.weights, { rtol: 1e-4, atol: 1e-5 });
        expect(dict).toEqual(weights);
        expect(left).toBeLessThanOrEqual(1);
        expect(sent['tensor']!.bytes).toBeGreaterThan(0);
      }
    },
  );
});
