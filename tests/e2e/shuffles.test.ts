import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { onRanks } from './on-ranks.js';
import type { OwnOrders, ReadByRank, Resumed } from './ranks/shuffles.js';

const module = new URL('./ranks/shuffles.ts', import.meta.url);
const env = { OMP_NUM_THREADS: '1' };
const run = (ranks: number, seed?: number) => onRanks<ReadByRank>({ module, ranks, args: { seed }, env });
const ALL = Array.from({ length: 24 }, (_, row) => row);
const sorted = (rows: readonly number[]) => rows.toSorted((a, b) => a - b);

/** The rows that all ranks read, step by step: the order of one process. */
const joined = (ranks: readonly (readonly number[])[]): number[] => {
  const batches = ranks[0]!.length / 3;
  return Array.from({ length: batches }, (_, i) => ranks.map((rows) => rows.slice(3 * i, 3 * i + 3))).flat(2);
};

describe('shuffles without a seed', () => {
  it.each([undefined, 7])('have one order on every rank, with the seed %s', async (seed) => {
    const [alone] = await run(1, seed);
    expect(sorted(alone!.early[0]!)).toEqual(ALL);
    expect(alone!.early[0]).not.toEqual(ALL);
    expect(alone!.early[1]).not.toEqual(alone!.early[0]);
    expect(alone!.late[0]).not.toEqual(alone!.early[0]);
    for (const size of [2, 4]) {
      const ranks = await run(size, seed);
      const of = (read: (rank: ReadByRank) => readonly number[]) => joined(ranks.map(read));
      for (const epoch of [0, 1]) {
        expect(of(({ early }) => early[epoch]!)).toEqual(alone!.early[epoch]);
        expect(of(({ fitted }) => fitted[epoch]!)).toEqual(alone!.fitted[epoch]);
      }
      expect(of(({ late }) => late[0]!)).toEqual(alone!.late[0]);
      expect(of(({ repeated }) => repeated)).toEqual(alone!.repeated);
      expect(of(({ seeded }) => seeded)).toEqual(alone!.seeded);
      for (const { indices, again } of ranks) {
        expect(indices).toEqual(alone!.indices);
        expect(again).toEqual(alone!.again);
      }
    }
  });

  it.each([1, 2])('go on after a resume within an epoch on %i ranks', async (ranks) => {
    const dir = await mkdtemp(join(tmpdir(), 'acc-shuffles-'));
    const results = await onRanks<Resumed>({ module, ranks, args: { dir }, env });
    for (const { parts, whole, indices } of results) {
      expect(parts).toEqual(whole);
      expect(indices[1]).toEqual(indices[0]);
    }
    expect(sorted(results.flatMap(({ parts }) => parts))).toEqual(ALL);
    await rm(dir, { recursive: true });
  });

  it('are another order with another seed', async () => {
    const [[one], [other], [same]] = await Promise.all([run(1, 7), run(1, 8), run(1, 7)]);
    expect(same).toEqual(one);
    for (const key of ['early', 'late', 'repeated', 'indices', 'again', 'fitted'] as const) {
      expect(other![key]).not.toEqual(one![key]);
    }
    expect(other!.seeded).toEqual(one!.seeded);
  });
});

it.each([1, 2, 3])(
  'own orders that differ are told once, by rank 0 of %i; seeds that differ change no dataset',
  async (ranks) => {
    const results = await onRanks<OwnOrders>({ module, ranks, args: { isOwnOrder: true }, env });
    results.forEach(({ warnings }, rank) => {
      const told = rank === 0 && ranks > 1 ? 1 : 0;
      const numbers = Object.entries(warnings).map(([name, texts]) => [name, texts.length]);
      expect(numbers).toEqual([
        ['own draws', told],
        ['one seed', 0],
        ['tf.util.shuffle', 0],
      ]);
      if (told > 0)
        expect(warnings['own draws']![0]).toMatch(/^acc: fit was given different rows.*use tf.util.shuffle/);
    });
    for (const epoch of [0, 1]) {
      // A rank without a batch in the last step fills its place.
      const read = new Set(results.flatMap(({ rowsOfOwnSeeds }) => rowsOfOwnSeeds[epoch]!));
      expect(sorted([...read])).toEqual(ALL);
    }
  },
);
