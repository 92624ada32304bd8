import { expect, it } from 'vitest';
import { lowered } from './budget.mjs';

const TEXT = `/** All files. */
export const BUDGET = {
  /** Jobs. */
  launches: 190,
  backwardPasses: 100_000,
} as const;

export const FILE_BUDGET = {
  launches: 16,
  backwardPasses: 12_000,
} as const;
`;

const found = (total, largest) => ({ BUDGET: (key) => total[key], FILE_BUDGET: (key) => largest[key] });

it('lowers limits to what was found and some more', () => {
  const { text, exceeded } = lowered(
    TEXT,
    found({ launches: 101, backwardPasses: 61_234 }, { launches: 12, backwardPasses: 4_001 }),
  );
  expect(exceeded).toEqual([]);
  expect(text).toBe(
    TEXT.replace('190', '110').replace('100_000', '65_000').replace('16', '13').replace('12_000', '4_300'),
  );
});

it('raises none, and names those that are exceeded', () => {
  const { text, exceeded } = lowered(
    TEXT,
    found({ launches: 191, backwardPasses: 99_000 }, { launches: 16, backwardPasses: 12_001 }),
  );
  expect(text).toBe(TEXT);
  expect(exceeded).toEqual(['BUDGET.launches: 191 of 190', 'FILE_BUDGET.backwardPasses: 12001 of 12000']);
});
