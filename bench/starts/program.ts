/** A rank of `bench/starts.mjs`: one training step of a small model. */
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

const accelerator = await Accelerator.create();
const [model, optimizer] = accelerator.prepare(
  tf.sequential({
    layers: [
      tf.layers.dense({ units: 32, activation: 'relu', inputShape: [16] }),
      tf.layers.dense({ units: 4 }),
    ],
  }),
  tf.train.adam(1e-3),
);
const [xs, ys] = [tf.ones([8, 16]), tf.ones([8, 4])];
const lossOf = (): tf.Scalar => tf.losses.meanSquaredError(ys, model.apply(xs) as tf.Tensor);
const [loss] = await optimizer.minimize(lossOf, true)!.data();
if (!Number.isFinite(loss)) throw new Error(`The loss is ${loss}.`);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ reachedAt: Date.now(), processorMs: (user + system) / 1000 }));
await accelerator.endTraining();
