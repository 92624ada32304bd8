// Trains 30 steps, waits for the file `go`, and trains 30 more.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';

const [projectDir] = process.argv.slice(2) as [string];
const STEPS = 30;
const BATCH = 4;
const accelerator = await Accelerator.create({
  logWith: ['jsonl'],
  projectDir,
  autoLog: { every: 5, stallMs: 1e9 },
});
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const rows = tf.ones([STEPS * BATCH * accelerator.numProcesses, 2]);
const loader = new DataLoader({ xs: rows }, { batchSize: BATCH });
const [, optimizer, data] = accelerator.prepare(model, tf.train.sgd(0.001), loader);
await accelerator.initTrackers('watched');

async function train(): Promise<void> {
  for await (const { xs } of data) {
    optimizer.minimize(() => tf.mean(tf.square(model.apply(xs) as tf.Tensor)));
    xs.dispose();
  }
}
await train();
while (!existsSync(join(projectDir, 'go'))) await setTimeout(50);
await train();
await accelerator.endTraining();
