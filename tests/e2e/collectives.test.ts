import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/collectives.ts', import.meta.url);

interface Read {
  values: number[];
  shape: number[];
  dtype: string;
}
interface Found {
  found: Record<string, Read> & { gatherNested: never };
  objects: { gathered: { rank: number; data: Float32Array }[]; fromLast: { rank: number } };
  records: Record<string, [string, ...number[]][]>;
  others: Record<string, unknown>;
  differing: (string | undefined)[];
  main?: number;
  last?: string;
  leaked: number;
  gatheredAgain: number[];
  afterEnd: string;
}

/**
 * Nested records, whose keys have a different order on each rank, and values that are not tensors.
 */
function expectRecords(result: Found, rank: number, ranks: readonly number[]): void {
  const size = ranks.length;
  const last = size - 1;
  const sum = ranks.reduce((a, b) => a + b, 0);
  const record = (a: number[], b: number[]) =>
    rank % 2 === 0
      ? [
          ['b', ...b],
          ['a', ...a],
        ]
      : [
          ['a', ...a],
          ['b', ...b],
        ];
  const filled = (values: number[], length: number) => [
    ...values,
    ...Array<number>(length - values.length).fill(-1),
  ];
  const gathered = record(
    ranks.flatMap((r) => [r, 10]),
    ranks.flatMap((r) => [100 * r, 1000]),
  );
  expect(result.records).toEqual({
    gather: gathered,
    gatherForMetrics: gathered,
    reduce: record([2 * last, 20], [200 * last, 2000]),
    broadcast: record([last, 10], [100 * last, 1000]),
    pad: record(
      filled(Array<number>(rank + 1).fill(rank), size),
      filled(Array<number>(2 * rank + 1).fill(10 * rank), 2 * last + 1),
    ),
    nested: record([sum, 10 * size], [100 * sum, 1000 * size]),
  });
  expect(result.others).toEqual({
    rows: ranks.flatMap((r) => [r, r + 0.5]),
    ids: ranks.flatMap((r) => [`a${r}`, { of: r }]),
    typed: Float32Array.from(ranks.flatMap((r) => [r, r + 0.25])),
    name: ranks.map((r) => `rank ${r}`),
    pair: [ranks, ranks.flatMap(() => [null, true])],
  });
  expect(result.differing).toEqual([
    size > 1 ? 'ACC_COLLECTIVE_MISMATCH' : 'none',
    'ACC_OBJECT_NOT_SERIALIZABLE',
  ]);
}

describe.each([1, 2, 3])('collectives on %i ranks', (size) => {
  it('give every rank the results of all', async () => {
    const results = await runRanks<Found>({ script, ranks: size, env: { OMP_NUM_THREADS: '1' } });
    const ranks = Array.from({ length: size }, (_, r) => r);
    const sum = ranks.reduce((a, b) => a + b, 0);
    const last = size - 1;
    for (const { rank, exitCode, stderr, stdout, result } of results) {
      expect(exitCode, stderr).toBe(0);
      const { found, objects } = result!;
      const float = (values: number[], shape: number[]): Read => ({ values, shape, dtype: 'float32' });
      expect(found).toEqual({
        gather: float(
          ranks.flatMap((r) => [r, r + 0.5]),
          [size, 2],
        ),
        gatherScalar: float(ranks, [size]),
        gatherUneven: { values: ranks.flatMap((r) => Array(2 * r).fill(r)), shape: [sum, 2], dtype: 'int32' },
        gatherBool: { values: ranks.flatMap((r) => [r === 0 ? 1 : 0, 1]), shape: [2 * size], dtype: 'bool' },
        gatherNested: [
          float(
            ranks.map((r) => 10 * r),
            [size],
          ),
          float(ranks, [size]),
        ],
        sum: float([size, sum], [2]),
        mean: float([1, sum / size], [2]),
        max: { values: [1, Math.max(last, 0)], shape: [2], dtype: 'int32' },
        min: float([1, 0], [2]),
        bools: [
          { values: [size, 1], shape: [2], dtype: 'int32' },
          { values: [1, size === 1 ? 1 : 0], shape: [2], dtype: 'int32' },
          float([1, Math.fround(1 / size)], [2]),
          { values: [1, 1], shape: [2], dtype: 'bool' },
        ],
        product: float([2 ** size, ranks.reduce((p, r) => p * (r + 1), 1)], [2]),
        scaled: float([10 * size, 10 * sum], [2]),
        view: float(
          ranks.flatMap(() => [1, 4, 2, 5, 3, 6]),
          [3 * size, 2],
        ),
        broadcast: float([last + 1, 5], [2]),
      });
      expectRecords(result!, rank, ranks);
      expect(objects.gathered).toEqual(ranks.map((r) => ({ rank: r, data: Float32Array.of(r) })));
      expect(objects.fromLast).toEqual({ rank: last });
      expect(result!.main).toBe(rank === 0 ? 2 : undefined);
      expect(result!.last).toBe(rank === last ? 'last' : undefined);
      expect(stdout.includes('printed once')).toBe(rank === 0);
      expect(result!.leaked).toBe(0);
      expect(result!.gatheredAgain).toEqual(ranks);
      // A single process has no job to leave.
      expect(result!.afterEnd).toBe(size > 1 ? 'ACC_TRAINING_ENDED' : 'created');
    }
  });
});
