import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { resultsOfRanks } from '@acc/testkit';
import { expectNear, rms } from '../transformer/compare.js';
import { newFolder } from '../transformer/reference.js';
import { CASES, trainAlone } from './model.js';
import type { OnRank } from './ranks/train.js';

const MESHES = [{ expert: 2 }, { data: 2, expert: 2 }];
const script = new URL('./ranks/train.ts', import.meta.url);

describe.each(MESHES)('the mesh %j', (mesh) => {
  const ranks = Object.values(mesh).reduce((product, size) => product * size);
  const folder = newFolder();
  let results: Record<string, OnRank>[];

  beforeAll(async () => {
    const args = [JSON.stringify(mesh), folder];
    const env = { OMP_NUM_THREADS: '1' };
    results = await resultsOfRanks({ script, ranks, args, env, timeoutMs: 300_000 });
    registerAccBackend();
    await tf.setBackend('acc');
  }, 300_000);

  it.each(Object.entries(CASES))('%s: trains as one process with the rows of all ranks', (name, given) => {
    const alone = trainAlone(given, ranks);
    for (const all of results) {
      const { losses, weights, dropped, leaked, gathered } = all[name]!;
      expectNear(losses, alone.losses, 1e-4);
      const size = Math.max(...Object.values(alone.weights).map(rms));
      for (const [weight, values] of Object.entries(alone.weights)) {
        expectNear(weights[weight]!, values, 1e-4, size);
      }
      expect(dropped).toBe(alone.dropped);
      expect(dropped > 0).toBe(given.experts.capacityFactor !== undefined);
      expect(leaked).toBe(0);
      expect(gathered).toEqual(weights['block/mlp/experts/c_fc/kernel']);
    }
  });
});
