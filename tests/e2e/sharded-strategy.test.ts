import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { Case, Result, Trained } from './ranks/sharded.js';

const SIZES = [1, 2, 3];
const CASES: readonly Case[] = ['clipped', 'accumulated', 'skipped', 'compiled', 'checkpointed'];
const results = new Map<number, Result[]>();

beforeAll(async () => {
  const module = new URL('./ranks/sharded.ts', import.meta.url);
  for (const ranks of SIZES) {
    const env = { OMP_NUM_THREADS: '1' };
    results.set(ranks, await onRanks<Result>({ module, ranks, env }));
  }
}, 360_000);

/** The results of each rank of a job with this many ranks. */
const of = (ranks: number, kind: Case, strategy: 'plain' | 'sharded'): Trained[] =>
  results.get(ranks)!.map((result) => result.cases[kind][strategy]);

/** 16-bit products round different sums to different numbers. */
const closeFor = (kind: Case) =>
  kind === 'skipped' ? { rtol: 1e-2, atol: 1e-3 } : { rtol: 1e-4, atol: 1e-6 };

describe.each(SIZES)('on %i ranks, shards', (ranks) => {
  it.each(CASES)('take the steps of whole parameters and of one process: %s', (kind) => {
    const [alone] = of(1, kind, 'plain');
    const plain = of(ranks, kind, 'plain');
    of(ranks, kind, 'sharded').forEach((sharded, rank) => {
      sharded.weights.forEach((values, step) => {
        expectClose(values, plain[rank]!.weights[step]!, closeFor(kind));
        // Each rank weights by its own items.
        if (kind !== 'accumulated') expectClose(values, alone!.weights[step]!, closeFor(kind));
      });
      expectClose(sharded.losses, plain[rank]!.losses, closeFor(kind));
      expect(sharded.weights.at(-1)).not.toEqual(sharded.weights[0]);
    });
  });

  it('skip a step together if one shard is not finite', () => {
    for (const { skipped, weights } of of(ranks, 'skipped', 'sharded')) {
      expect(skipped).toEqual([false, false, true, false, false, false]);
      expect(weights[2]).toEqual(weights[1]);
    }
  });

  it('change only at the end of a window', () => {
    for (const { weights } of of(ranks, 'accumulated', 'sharded')) {
      expect([weights[1], weights[4]]).toEqual([weights[0], weights[3]]);
      expect(weights[2]).not.toEqual(weights[1]);
    }
  });

  it('are all that a rank keeps, and no tensor is left behind', () => {
    for (const kind of CASES) {
      for (const { keptElements, isReleased, leaked, gathers } of of(ranks, kind, 'sharded')) {
        expect(keptElements).toBe(Math.ceil(35 / ranks) + Math.ceil(24 / ranks));
        expect([isReleased, leaked]).toEqual([true, 0]);
        expect(gathers).toBeGreaterThan(40);
      }
    }
  });

  it('are gathered in each replay', () => {
    for (const { replays, weights } of of(ranks, 'compiled', 'sharded')) {
      expect(replays).toBe(3);
      expect(weights).toHaveLength(6);
    }
  });
});

it.each(SIZES)('gradients pass through reductions and gatherings over %i ranks', (ranks) => {
  const all = Array.from({ length: ranks }, (_, rank) => rank + 1);
  const total = all.reduce((a, b) => a + b);
  results.get(ranks)!.forEach(({ throughCollectives: found }, rank) => {
    const sum = [2 * total * total, 2 * total * 2 * ranks];
    const own = [2 * total * (rank + 1), 2 * total * 2];
    expect(found).toEqual({
      sum,
      'sum twice': [2 * total * ranks, 2 * total * ranks],
      'sum compiled': [...sum.map((value) => 4 * value), 2],
      gather: own,
      'gather twice': [2 * total, 2 * total],
      'gather compiled': [...own.map((value) => 4 * value), 2],
    });
  });
});
