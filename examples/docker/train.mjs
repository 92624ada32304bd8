// Learns a line.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create();
const [model, optimizer] = accelerator.prepare(
  tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] }),
  tf.train.sgd(0.1),
);
const xs = tf.linspace(-1, 1, 16).reshape([16, 1]);
const ys = xs.mul(3).add(1);
for (let step = 0; step < 200; step++) {
  optimizer.minimize(() => tf.losses.meanSquaredError(ys, model.apply(xs)));
}
const [slope, offset] = model.getWeights().map((weight) => weight.dataSync()[0].toFixed(2));
accelerator.print(`slope ${slope}, offset ${offset}`);
await accelerator.endTraining();
