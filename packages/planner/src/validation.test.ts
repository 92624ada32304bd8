import { describe, expect, it } from 'vitest';
import {
  BRIDGE_FP8,
  KORTHIKANTI,
  LLM_FOUNDRY_A100,
  LLM_FOUNDRY_H100,
  MEGATRON_H100,
  SC21,
  TORCHTITAN,
  type PublishedTable,
} from './testing/tables.js';
import { compare, documentOf, heldOut, type Compared } from './testing/validation.js';

/** Limits of the mean and of the largest error in percent, on rows that no constant was fitted on. */
const LIMITS: readonly (readonly [PublishedTable, mean: number, most: number])[] = [
  [SC21, 3, 6],
  [MEGATRON_H100, 5, 10],
  // DESIGN.md says what these four miss: a mean of 3.5 %, and a largest error of 20 %.
  [KORTHIKANTI, 4.5, 8],
  [LLM_FOUNDRY_A100, 10, 40],
  [LLM_FOUNDRY_H100, 10, 35],
  [TORCHTITAN, 10, 20],
  [BRIDGE_FP8, 15, 20],
];

const compared = new Map<PublishedTable, Compared[]>();
const comparedOf = (table: PublishedTable): Compared[] => {
  const rows = compared.get(table) ?? compare(table);
  compared.set(table, rows);
  return rows;
};

describe('published measurements, rows without fitted constants', () => {
  it.each(LIMITS.map(([table, mean, most]) => ({ name: table.name, table, mean, most })))(
    '$name: mean error at most $mean %, largest at most $most %',
    ({ table, mean, most }) => {
      const rows = comparedOf(table);
      const held = heldOut(rows);
      expect(rows.filter(({ isFitted }) => isFitted).length).toBeLessThanOrEqual(3);
      expect(held.mean).toBeLessThanOrEqual(mean);
      expect(held.most).toBeLessThanOrEqual(most);
    },
  );

  it('VALIDATION.md has the errors of all rows', async () => {
    const document = documentOf(LIMITS.map(([table]) => [table, comparedOf(table)]));
    await expect(document).toMatchFileSnapshot('../VALIDATION.md');
  });
});
