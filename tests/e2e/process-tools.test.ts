import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from './on-ranks.js';

interface Result {
  parts: { list: string[]; rows: number[]; later: number };
  triggers: boolean[];
  padded: { all: number[][]; front: number[][]; scalar: number; bools: unknown[] };
  turns: string[];
  own: number[];
  synchronized: number[];
  isSame: boolean;
  leaked: number;
}

describe('three processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-tools-'));
  let ranks: Result[];

  beforeAll(async () => {
    const module = new URL('./ranks/process-tools.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    ranks = await onRanks<Result>({ module, ranks: 3, args: join(folder, 'turns'), env });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('split lists and records, evenly if they are filled', () => {
    expect(ranks.map(({ parts }) => parts)).toEqual([
      { list: ['a', 'b'], rows: [0, 1], later: 1 },
      { list: ['c'], rows: [2, 3], later: 1 },
      { list: ['d'], rows: [3, 3], later: 1 },
    ]);
  });

  it('see a flag once if one of them has set it', () => {
    for (const { triggers } of ranks) expect(triggers).toEqual([false, true, false]);
  });

  it('pad tensors to the largest size, and gather them', () => {
    const rows = (value: number) => Array.from({ length: 3 }, (_, i) => (i < value ? value : -1));
    ranks.forEach(({ padded: { all, front, scalar, bools } }, rank) => {
      expect(all).toEqual([1, 1, 2, 2, 3, 3].map(rows));
      expect(front[0]).toEqual(rows(rank + 1).map((_, i) => (i < 2 - rank ? 0 : rank + 1)));
      expect(scalar).toBe(7);
      expect(bools).toEqual(['bool', 1, Number(rank > 0), Number(rank > 1)]);
    });
  });

  it('wait for the first process of their host', () => {
    expect(ranks[0]!.turns).toHaveLength(3);
    expect(ranks[0]!.turns[0]).toBe('0');
  });

  it('draw the numbers of rank 0 after their random states are synchronized', () => {
    expect(ranks[1]!.own).not.toEqual(ranks[0]!.own);
    for (const { synchronized } of ranks) expect(synchronized).toEqual(ranks[0]!.own);
  });

  it('get their original model back, and dispose what freeMemory is given', () => {
    for (const { isSame, leaked } of ranks) expect([isSame, leaked]).toEqual([true, 0]);
  });
});
