// Trains 30 steps, waits for the file `go`, and trains 30 more.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const [projectDir] = process.argv.slice(2) as [string];
const STEPS = 30;
const accelerator = await Accelerator.create({
  logWith: ['jsonl'],
  projectDir,
  autoLog: { every: 5, stallMs: 1e9 },
});
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.001));
await accelerator.initTrackers('watched');

const xs = tf.ones([4, 2]);
const train = () => {
  for (let step = 0; step < STEPS; step++)
    optimizer.minimize(() => tf.mean(tf.square(model.apply(xs) as tf.Tensor)));
};
train();
while (!existsSync(join(projectDir, 'go'))) await setTimeout(50);
train();
await accelerator.endTraining();
