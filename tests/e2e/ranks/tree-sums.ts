// Sums over ranks with deterministic Accelerators, next to the pairwise sum that each rank computes
// itself.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

/** The values have very different magnitudes, so another order of additions gives other bits. */
const valuesOf = (of: number, length: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * 7 + of) * 10 ** ((i * 3 + of * 5) % 8));

function inPairs(level: Float32Array[], combine: (a: number, b: number) => number): Float32Array {
  if (level.length === 1) return level[0]!;
  const above = Array.from({ length: level.length / 2 }, (_, i) =>
    level[2 * i]!.map((x, j) => combine(x, level[2 * i + 1]![j]!)),
  );
  return inPairs(above, combine);
}

export default async function treeSums() {
  const accelerator = await Accelerator.create({ deterministic: { virtualShards: 8 } });
  const { numProcesses: size, processIndex: rank } = accelerator;
  const wrong: string[] = [];
  for (const length of [1, 7, 4096, 4097, 100_003]) {
    const ofRanks = Array.from({ length: size }, (_, of) => valuesOf(of, length));
    const expected = inPairs(ofRanks, (a, b) => a + b);
    const x = tf.tensor1d(valuesOf(rank, length));
    const means = expected.map((sum) => sum / size);
    const results = {
      sum: [accelerator.reduce(x), expected],
      mean: [accelerator.reduce(x, 'mean'), means],
      max: [accelerator.reduce(x, 'max'), inPairs(ofRanks, Math.max)],
    } as const;
    for (const [name, [got, right]] of Object.entries(results)) {
      const values = got.dataSync();
      if (values.length !== length || values.some((value, i) => value !== right[i]))
        wrong.push(`${name} of ${length}`);
    }
    const shaped = accelerator.reduce(x.reshape([1, length]));
    if (shaped.shape.join() !== [1, length].join()) wrong.push(`shape ${shaped.shape.join()}`);
  }
  accelerator.freeMemory();
  return { wrong };
}
