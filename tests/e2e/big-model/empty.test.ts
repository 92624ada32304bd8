import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';
import type { Result, Way } from './ranks/empty.js';

const SIZES = [1, 2, 3];
const WAYS: readonly Way[] = ['ddp', 'stage2', 'stage3'];
const results = new Map<number, Result[]>();

beforeAll(async () => {
  const script = new URL('./ranks/empty.ts', import.meta.url);
  for (const ranks of SIZES) {
    const ended = await runRanks<Result>({
      script,
      ranks,
      args: [mkdtempSync(join(tmpdir(), 'acc-empty-'))],
      env: { OMP_NUM_THREADS: '1' },
    });
    for (const { exitCode, stderr } of ended) expect(exitCode, stderr).toBe(0);
    results.set(
      ranks,
      ended.map(({ result }) => result!),
    );
  }
}, 360_000);

describe.each(SIZES)('on %i ranks, a model from initEmptyWeights', (ranks) => {
  it.each(WAYS)('is prepared to the bits of a model that was built whole, and trains like it: %s', (way) => {
    for (const { whole, empty, emptyBefore } of results.get(ranks)!) {
      expect(whole[way].weights.flat().length).toBeGreaterThan(250);
      expect(empty[way]).toEqual(whole[way]);
      // Before it is created, the Accelerator cannot seed the backend, of which nothing is drawn.
      expect(emptyBefore[way]).toEqual(whole[way]);
    }
  });

  it.each(WAYS)('has the weights of rank 0, where ranks draw different numbers: %s', (way) => {
    const [first] = results.get(ranks)!;
    for (const { unequal } of results.get(ranks)!) {
      expect(unequal[way].empty).toEqual(unequal[way].whole);
      expect(unequal[way].empty).toEqual(first!.unequal[way].empty);
    }
  });

  it('is never whole on one rank while stage 3 prepares it', () => {
    for (const { peakBytes } of results.get(ranks)!) {
      const { above, shards, largest } = peakBytes;
      if (ranks > 1) expect(shards).toBeLessThan((1.05 * 6 * largest) / ranks);
      expect(above).toBeLessThanOrEqual(shards + 2 * largest);
    }
  });

  it.each(WAYS)('takes the weights of a checkpoint, and of a saved model before prepare: %s', (way) => {
    for (const { loaded } of results.get(ranks)!) {
      expect(loaded[way].state).toEqual(loaded[way].expected);
      expect(loaded[way].model).toEqual(loaded[way].expected);
    }
  });

  it('gives errors with codes', () => {
    for (const { codes } of results.get(ranks)!) {
      expect(codes).toEqual({
        'predict before prepare': 'ACC_WEIGHT_EMPTY',
        'a read before prepare': 'ACC_WEIGHT_EMPTY',
        'an asynchronous builder': 'ACC_INVALID_ARGUMENT',
        'after prepare': 'none',
      });
    }
  });
});

it.each([1, 2])('on %i ranks, training that is deterministic begins with the same bits', (ranks) => {
  const [first] = results.get(1)!;
  for (const { deterministic } of results.get(ranks)!) {
    expect(deterministic!.empty).toEqual(first!.deterministic!.whole);
    expect(deterministic!.whole).toEqual(first!.deterministic!.whole);
  }
});
