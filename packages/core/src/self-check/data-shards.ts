import type { Tensor } from '@tensorflow/tfjs-core';
import { DataLoader } from '../index.js';
import type { Check } from './check.js';

/** Of an epoch of shuffled data, the ranks together get every sample once. */
export const dataCheck: Check = {
  name: 'data shards',
  run: async ({ accelerator }) => {
    const n = accelerator.numProcesses;
    // Right for one rank and for all together, and the last batch is not full.
    const batchSize = 4 * n;
    const count = 2 * batchSize * n + 3;
    const samples = Array.from({ length: count }, (_, i) => i);
    const data = accelerator.prepare(new DataLoader(samples, { batchSize, shuffle: true }));
    const seen: number[] = [];
    for await (const batch of data as AsyncIterable<Tensor>) {
      const all = accelerator.gatherForMetrics(batch);
      seen.push(...all.dataSync());
      batch.dispose();
      all.dispose();
    }
    const times = new Map<number, number>();
    for (const sample of seen) times.set(sample, (times.get(sample) ?? 0) + 1);
    const wrong = samples.find((sample) => times.get(sample) !== 1);
    const note = `${count} samples, each once`;
    if (wrong === undefined && seen.length === count) return { note };
    return {
      problem: `of ${count} samples, ${seen.length} came; sample ${wrong} came ${times.get(wrong!) ?? 0} times`,
    };
  },
};
