import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from './on-ranks.js';

interface Result {
  parts: { list: string[]; rows: number[]; later: number };
  triggers: boolean[];
  padded: { all: number[][]; front: number[][]; scalar: number; bools: unknown[] };
  lines: string[];
  tree: {
    size: number;
    structure: unknown;
    joined: { x: number[][]; rest: number[][] };
    wide: number[][];
  };
  state: { calls: string[]; isPath: boolean; values: number[][]; failure: string };
  weight: number;
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

  it('log on rank 0, on all ranks, or on rank 0 in the order of ranks', () => {
    const all = (rank: number) => `error|ERROR train: [RANK ${rank}] all`;
    expect(ranks.map(({ lines }) => lines)).toEqual([
      [
        'info|INFO train: [RANK 0] main',
        all(0),
        ...[0, 1, 2].map((rank) => `info|INFO train: [RANK ${rank}] turns`),
        'warn|WARN train: [RANK 0] once',
      ],
      [all(1)],
      [all(2)],
    ]);
  });

  it('apply functions to batches, and slice, join and describe them', () => {
    ranks.forEach(({ tree: { size, structure, joined, wide } }, rank) => {
      expect(size).toBe(6);
      expect(structure).toEqual({
        x: { shape: [6, 3], dtype: 'float32' },
        rest: [{ shape: [6], dtype: 'int32' }],
      });
      expect(joined.x).toEqual([2, 4, 4, 0, 0].map((value) => [value, value, value]));
      expect(joined.rest).toEqual([[-2, 4, -4, 0, 0]]);
      expect(wide).toEqual([0, 1].map(() => new Array(6).fill(rank)));
    });
  });

  it('run hooks before saves and loads, fail together if one fails, and write tensors of rank 0', () => {
    ranks.forEach(({ state: { calls, isPath, values, failure } }, rank) => {
      expect(calls).toEqual(['save 0', 'load']);
      expect(isPath).toBe(true);
      // The hook of the save has set the value that is saved. Rank 0 has written [1, 1].
      expect(values).toEqual([[7], [1, 1], [5]]);
      expect(failure).toContain(rank === 2 ? 'no room' : 'On rank 2: ');
    });
  });

  it('train through hooks of layers', () => {
    // The slope is three times the mean of the inputs 0, 1 and 2.
    for (const { weight } of ranks) expect(weight).toBe(1 - 3);
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
