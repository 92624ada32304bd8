// Measures which objects of training steps survive V8's frequent collections of young objects.
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as tf from '@tensorflow/tfjs';

const STEPS = 400;

const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu' });
const layers = [
  tf.layers.dense({ units: 16, activation: 'relu', inputShape: [8] }),
  tf.layers.dense({ units: 3 }),
];
const [model, optimizer] = accelerator.prepare(tf.sequential({ layers }), tf.train.adam(0.01));
const xs = tf.ones<tf.Rank.R2>([4, 8]);
const ys = tf.oneHot([0, 1, 2, 0], 3).toFloat();

function train(): void {
  for (let step = 0; step < STEPS; step++) {
    optimizer.minimize(() => tf.losses.softmaxCrossEntropy(ys, model.predict(xs) as tf.Tensor));
    if (step % 50 === 49) gc!({ type: 'minor' });
  }
  // V8 treats objects that survive twice as old.
  gc!({ type: 'minor' });
  gc!({ type: 'minor' });
}

/** Bytes of the heap that a step leaves, in a round of steps. */
function measure(): number {
  const before = process.memoryUsage().heapUsed;
  train();
  return (process.memoryUsage().heapUsed - before) / STEPS;
}

for (let i = 0; i < 3; i++) train();
// V8 may optimize code in a round, or collect everything: the round in the middle has neither.
const rounds = Array.from({ length: 5 }, measure).sort((a, b) => a - b);
reportResult({ bytesOfAStep: rounds[2]! });
await accelerator.endTraining();
