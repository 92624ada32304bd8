import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Result, Way } from './ranks/dispatch.js';

const SIZES = [1, 2, 3];
const WAYS: readonly Way[] = ['ddp', 'stage3'];
const results = new Map<number, Result[]>();
const left: string[] = [];

beforeAll(async () => {
  const module = new URL('./ranks/dispatch.ts', import.meta.url);
  for (const ranks of SIZES) {
    const [folder, offload] = ['acc-dispatch-', 'acc-offload-'].map((name) =>
      mkdtempSync(join(tmpdir(), name)),
    ) as [string, string];
    const env = { OMP_NUM_THREADS: '1' };
    const args = { root: folder, offloadFolder: offload };
    results.set(ranks, await onRanks<Result>({ module, ranks, args, env }));
    left.push(...readdirSync(offload));
  }
}, 360_000);

describe.each(SIZES)('on %i ranks', (ranks) => {
  it('loadCheckpointAndDispatch gives a model the saved weights: before and after prepare, dispatched and sharded', () => {
    for (const { saved, loaded } of results.get(ranks)!) {
      expect(Object.keys(loaded)).toHaveLength(6);
      for (const weights of Object.values(loaded)) expect(weights).toEqual(saved);
    }
  });

  it('each rank reads its own elements of one weight after the other, where stage 3 has sharded them', () => {
    for (const { loadBytes } of results.get(ranks)!) {
      const { peak, shards, largest } = loadBytes;
      // One process alone has one shard, the model. Memory comes in blocks.
      expect(shards).toBeLessThan((1.2 * 5 * largest) / ranks);
      expect(peak).toBeLessThanOrEqual(shards + 2 * largest);
    }
  });

  it.each(WAYS)('a dispatched model is trained like one in memory: %s', (way) => {
    for (const { trained, saved } of results.get(ranks)!) {
      const { whole, dispatched } = trained[way];
      expect(dispatched).toEqual(whole);
      // Training began with the weights that were saved.
      whole.weights.forEach((weights, i) => expect(weights).not.toEqual(saved[i]));
    }
  });

  it('a step of a dispatched model is not repeated from a recording, and trains it all the same', () => {
    for (const { compiled } of results.get(ranks)!) {
      expect(compiled.dispatched).toEqual(compiled.whole);
      expect(new Set(compiled.whole).size).toBe(5);
    }
  });

  it('mistakes are errors with codes, and all differences from a file are one error', () => {
    for (const { codes, differences } of results.get(ranks)!) {
      expect(codes).toEqual({
        'a folder without weights': 'ACC_WEIGHTS_NOT_FOUND',
        'a folder that is missing': 'ACC_WEIGHTS_NOT_FOUND',
        'no folder': 'ACC_INVALID_ARGUMENT',
        'an option that is misspelled': 'ACC_UNKNOWN_OPTION',
        'a negative number': 'ACC_INVALID_OPTION',
        'no offloadFolder': 'ACC_OFFLOAD_FOLDER',
        'an empty model': 'ACC_WEIGHT_EMPTY',
        'another model': 'ACC_WEIGHTS_MISMATCH',
        'another width': 'ACC_WEIGHTS_MISMATCH',
        'an option that is misspelled, of sharded weights': 'ACC_UNKNOWN_OPTION',
        'a folder that one rank lacks': 'ACC_WEIGHTS_NOT_FOUND',
        'an option of one rank': 'ACC_INVALID_OPTION',
        'dispatch afterwards': 'none',
        ...(ranks > 1 && {
          'dispatch of sharded weights': 'ACC_STRATEGY_CANNOT',
          'load and dispatch': 'ACC_STRATEGY_CANNOT',
        }),
      });
      expect(differences).toMatchObject({
        missing: ['layer5/kernel', 'layer5/bias'],
        surplus: ['layer4/kernel', 'layer4/bias'],
        misshapen: [],
      });
    }
  });
});

it('leaves nothing in the folder for offloaded weights', () => {
  expect(left).toEqual([]);
});
