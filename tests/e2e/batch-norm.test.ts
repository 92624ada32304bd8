import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Trained {
  backend: string;
  trained: number[][];
  statistics: number[][];
  losses: number[];
  whilePrepared: boolean[];
  afterwards: boolean[];
  leaked: number;
}

const module = new URL('./ranks/batch-norm.ts', import.meta.url);

/** The results of each rank of 1, 2 and 3, by training. */
const trained: Record<number, Record<string, Trained>[]> = {};

/**
 * Trainings by number of ranks. One rank trains only on acc, because tfjs's own gradient fails if
 * the channels are not last.
 */
const TRAININGS = {
  1: ['local:acc'],
  2: ['sync:acc', 'sync:cpu', 'broadcast:acc', 'local:acc'],
  3: ['sync:acc', 'sync:cpu'],
};

beforeAll(async () => {
  for (const [size, args] of Object.entries(TRAININGS)) {
    const env = { OMP_NUM_THREADS: '1' };
    const results = await onRanks<Record<string, Trained>>({ module, ranks: Number(size), args, env });
    for (const result of results) expect(Object.keys(result)).toEqual(args);
    trained[Number(size)] = results;
  }
});

/** The results of the ranks for one training. */
const of = (size: number, training: string) => trained[size]!.map((rank) => rank[training]!);

function expectSame(one: Trained, other: Trained): void {
  const tolerance = { rtol: 1e-5, atol: 1e-5 };
  for (const kind of ['trained', 'statistics'] as const) {
    expect(one[kind]).toHaveLength(other[kind].length);
    one[kind].forEach((values, i) => expectClose(values, other[kind][i]!, tolerance));
  }
  expectClose(one.losses, other.losses, tolerance);
}

describe('synchronised batch normalisation', () => {
  it.each(['acc', 'cpu'])('on %s trains 2 and 3 ranks like one rank with whole batches', (backend) => {
    const [alone] = of(1, 'local:acc');
    for (const size of [2, 3]) {
      const ranks = of(size, `sync:${backend}`);
      expect(ranks.map((rank) => rank.backend)).toEqual(ranks.map(() => backend));
      expect(ranks).toHaveLength(size);
      for (const rank of ranks) {
        expect(rank.trained).toEqual(ranks[0]!.trained);
        expect(rank.statistics).toEqual(ranks[0]!.statistics);
        expectSame(rank, alone!);
        expect(rank.leaked).toBe(0);
      }
    }
  });

  it('replaces only the call of layers of tfjs, until memory is freed', () => {
    const [sync] = of(2, 'sync:cpu');
    expect(sync).toMatchObject({ whilePrepared: [true, false], afterwards: [false, false] });
  });
});

it('by default all ranks have the moving statistics of rank 0', () => {
  const [broadcast, local] = [of(2, 'broadcast:acc'), of(2, 'local:acc')];
  expect(broadcast[1]!.statistics).toEqual(broadcast[0]!.statistics);
  expect(local[1]!.statistics).not.toEqual(local[0]!.statistics);
  expect(broadcast[0]!.statistics).toEqual(local[0]!.statistics);
  expect(broadcast[1]!.trained).toEqual(local[0]!.trained);
});
