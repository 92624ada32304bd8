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
import { noteOfChoices } from './testing/choices.js';
import { compare, documentOf, errorsOf, type Compared } from './testing/validation.js';

/** Limits of the mean and of the largest error in percent, of rows that no constant was aimed at. */
const LIMITS: readonly (readonly [PublishedTable, mean: number, most: number])[] = [
  // VALIDATION.md says which bars five of these tables miss.
  [SC21, 3.1, 6],
  [MEGATRON_H100, 5, 10],
  [KORTHIKANTI, 4, 8],
  [LLM_FOUNDRY_A100, 10, 40],
  [LLM_FOUNDRY_H100, 10, 35],
  [TORCHTITAN, 7.5, 17],
  [BRIDGE_FP8, 8.5, 20.5],
];

const compared = new Map<PublishedTable, Compared[]>();
const comparedOf = (table: PublishedTable): Compared[] => {
  const rows = compared.get(table) ?? compare(table);
  compared.set(table, rows);
  return rows;
};

describe('published measurements, rows that no constant was aimed at', () => {
  it.each(LIMITS.map(([table, mean, most]) => ({ name: table.name, table, mean, most })))(
    '$name: mean error at most $mean %, largest at most $most %',
    ({ table, mean, most }) => {
      const rows = comparedOf(table);
      const held = errorsOf(rows);
      expect(rows.filter(({ isAimedAt }) => isAimedAt).length).toBeLessThanOrEqual(3);
      expect(held.mean).toBeLessThanOrEqual(mean);
      expect(held.most).toBeLessThanOrEqual(most);
    },
  );

  it('VALIDATION.md has the errors of all rows', async () => {
    const document = documentOf(
      LIMITS.map(([table]) => ({
        table,
        rows: comparedOf(table),
        notes: [
          ...(table.note === undefined ? [] : [table.note]),
          ...(table === MEGATRON_H100 ? [noteOfChoices(table)] : []),
        ],
      })),
    );
    await expect(document).toMatchFileSnapshot('../VALIDATION.md');
  });
});
