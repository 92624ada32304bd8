import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Result, Way } from './ranks/programs.js';

const SHARDED: readonly Way[] = ['stage1', 'stage2', 'stage3'];
const results = new Map<number, Result[]>();

beforeAll(async () => {
  const module = new URL('./ranks/programs.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  for (const ranks of [2, 3]) results.set(ranks, await onRanks<Result>({ module, ranks, env }));
});

describe.each([2, 3])('on %i ranks, under fsdp', (ranks) => {
  it('gradients are whole where a program reads, clips, changes and applies them, as under ddp', () => {
    for (const { values, leaked } of results.get(ranks)!) {
      for (const way of SHARDED) {
        expect(Object.keys(values[way])).toEqual(Object.keys(values.ddp));
        for (const [name, given] of Object.entries(values.ddp)) {
          expectClose(values[way][name]!, given, { rtol: 1e-5, atol: 1e-6 });
        }
        expect(leaked[way]).toBe(0);
      }
    }
  });

  it('gradients of one rank stay its own in noSync, and in a window whose sum is reduced', () => {
    for (const { local } of results.get(ranks)!) {
      for (const way of SHARDED) {
        for (const [name, given] of Object.entries(local[way])) {
          expectClose(given, local.ddp[name]!, { rtol: 1e-5, atol: 1e-6 });
        }
      }
      expect(Object.keys(local.stage1)).toEqual(Object.keys(local.ddp));
    }
  });

  it('a slice and a checkpoint keep their values while steps change the weights', () => {
    for (const { kept } of results.get(ranks)!) {
      for (const way of [...SHARDED, 'ddp'] as const) {
        const { slice, saved, next } = kept[way];
        expect(slice[1]).toEqual(slice[0]);
        expect(saved[1]).toEqual(saved[0]);
        expect(next[1]).toEqual(next[0]);
        expect(next[0]).not.toEqual(saved[0]);
      }
    }
  });

  it('a rank holds its share of parameters and optimizer state between steps', () => {
    for (const { restingBytes, parameters } of results.get(ranks)!) {
      const whole = 4 * parameters;
      // Weights, and both moments of Adam. Chunks are rounded up to whole blocks of memory.
      expect(restingBytes.ddp / whole).toBeCloseTo(3, 2);
      expect(restingBytes.stage3 / whole).toBeLessThan(1.05 * (3 / ranks));
      // Whole weights, this rank's among them, and its share of the moments.
      expect(restingBytes.stage2 / whole).toBeLessThan(1.05 * (1 + 2 / ranks));
    }
  });

  it('what cannot work is an error with a code on every rank', () => {
    for (const { codes } of results.get(ranks)!) {
      expect(codes).toEqual({
        'a clone from before the step': 'ACC_SHARD_OUTDATED',
        'an optimizer of the program': 'ACC_STRATEGY_CANNOT',
        'an optimizer in noSync': 'ACC_STRATEGY_CANNOT',
        joinUnevenInputs: 'ACC_STRATEGY_CANNOT',
        'a read after freeMemory': 'ACC_SHARD_FREED',
        'options that differ': 'ACC_OPTIONS_DIFFER',
        'units that differ': 'ACC_UNITS_DIFFER',
        deterministic: 'ACC_DETERMINISTIC_UNSUPPORTED',
      });
    }
  });
});
