// Ranks of the axis tensor are given different batches, and cut variables on a mesh without the axis.
// Reports the code of each error, and the warnings.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, parallelize, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

const warnings: string[] = [];
console.warn = (message: string) => void warnings.push(message);
const found: Record<string, unknown> = {};

const made = (name: string) =>
  parallelize(
    tf.sequential({
      layers: [
        tf.layers.dense({ name: `${name}a`, units: 4, inputShape: [3] }),
        tf.layers.dense({ name: `${name}b`, units: 1 }),
      ],
    }),
    'auto',
  );

/** Takes a step on a batch of the seed. */
async function on(
  options: AcceleratorOptions,
  steps: (step: (seed: number, rows?: number, label?: number) => void, rank: number) => void,
) {
  const accelerator = await Accelerator.create({ engine: 'acc', ...options });
  const model = made(`m${Object.keys(found).length}`);
  const optimizer = tf.train.sgd(0.01);
  accelerator.prepare(model, optimizer);
  steps((seed, rows = 8, label = 1) => {
    const xs = tf.randomNormal([rows, 3], 0, 1, 'float32', seed);
    const lossOf = () => tf.losses.meanSquaredError(tf.fill([rows, 1], label), model.apply(xs) as tf.Tensor);
    optimizer.minimize(() => lossOf() as tf.Scalar);
  }, accelerator.processIndex);
  accelerator.freeMemory();
  tf.disposeVariables();
}

function refused(name: string, act: () => unknown): void {
  try {
    act();
    found[name] = 'none';
  } catch (error) {
    const { code, details } = error as { code?: string; details?: { what?: string } };
    found[name] = `${code ?? String(error)} ${details?.what}`;
  }
}

await on({ mesh: { tensor: 2 } }, (step, rank) => {
  refused('rows', () => step(1, 8 - 4 * rank));
  refused('values', () => step(1 + rank));
  refused('the same', () => step(1));
  refused('the same again', () => step(2));
});
await on({ mesh: { tensor: 2 } }, (step, rank) => refused('labels', () => step(1, 8, rank)));
for (const [name, options] of [
  ['without the axis', {}],
  ['with a size of 1', { mesh: { data: 2, tensor: 1 } }],
] as const) {
  warnings.length = 0;
  await on(options, (step, rank) => [1, 2].forEach((seed) => step(seed + rank)));
  found[name] = warnings.filter((message) => message.includes('parallelize has no effect')).length;
}
reportResult(found);
