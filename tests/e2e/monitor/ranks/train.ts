// Trains 30 steps. Then rank 0 waits in a barrier, and rank 1 in JavaScript for the file `go`. Then both train
// 30 more, and go on until the file `stop` is there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

function step(xs: tf.Tensor): void {
  optimizer.minimize(() => tf.mean(tf.square(model.apply(xs) as tf.Tensor)));
}

async function train(): Promise<void> {
  for await (const { xs } of data) {
    step(xs);
    xs.dispose();
  }
}

function waitForFile(name: string): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(join(projectDir, name))) Atomics.wait(cell, 0, 0, 5);
}

/** Trackers write between steps. A rank that waits in a collective leaves them no time. */
async function trackersWrote(text: string): Promise<void> {
  const [name] = readdirSync(projectDir, { recursive: true, encoding: 'utf8' }).filter((each) =>
    each.endsWith('metrics.jsonl'),
  );
  while (!readFileSync(join(projectDir, name!), 'utf8').includes(text)) await setTimeout(5);
}

await train();
const picture = tf.tidy(() => tf.linspace(0, 1, 64).reshape([8, 8]) as tf.Tensor2D);
for (const at of [10, 20]) accelerator.logImages({ sample: picture }, { step: at });
accelerator.logTable('confusion', { columns: ['class', 'right'], rows: [['cat', 7]] }, { step: 20 });
await accelerator.saveState();
if (accelerator.isMainProcess) {
  await trackersWrote('confusion');
  accelerator.waitForEveryone();
} else {
  waitForFile('go');
  accelerator.waitForEveryone();
}
await train();
const batch = tf.ones([BATCH, 2]);
for (let isAsked = false; !isAsked;) {
  step(batch);
  await setTimeout(10);
  const stop = existsSync(join(projectDir, 'stop')) ? 1 : 0;
  isAsked = tf.tidy(() => accelerator.reduce(tf.scalar(stop), 'sum').dataSync()[0]! > 0);
}
await accelerator.endTraining();
