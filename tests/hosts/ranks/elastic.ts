// Trains deterministically, from the newest checkpoint if there is one, and prints each step. It
// takes as many steps as a file permits so far. Arguments: the folder of checkpoints, that file, the
// number of steps.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { mlp } from '../../e2e/ranks/deterministic-models.js';
import { hashOfWeights, noisyLoss } from '../../e2e/ranks/deterministic-runs.js';

const [dir, permitted, stepsText] = process.argv.slice(2) as [string, string, string];
const steps = Number(stepsText);
const BATCH = 16;

// Without preemption, a rank that is asked to end does not save: the job restarts from whatever
// checkpoint there is.
const accelerator = await Accelerator.create({
  deterministic: true,
  dataLoader: { splitBatches: true },
  checkpoint: { dir, keepLast: 2, preemption: false },
});
const task = mlp(5 * BATCH);
const loader = new DataLoader({ xs: task.xs, ys: task.ys }, { batchSize: BATCH, shuffle: true });
const [, optimizer, data] = accelerator.prepare(task.model, tf.train.adam(0.001), loader);
const restored = await accelerator.loadState('latest', { ifPresent: true });
let step = restored?.step ?? 0;
const round = process.env['ACC_RESTART_COUNT'] ?? '0';
const place = `round ${round} rank ${accelerator.processIndex}/${accelerator.numProcesses}`;
console.log(`at ${step} ${place} pid ${process.pid} on ${hostname()}`);

while (step < steps) {
  for await (const batch of data) {
    while (Number(readFileSync(permitted, 'utf8')) <= step) await sleep(10);
    optimizer.minimize(() => noisyLoss(task, batch as { xs: tf.Tensor; ys: tf.Tensor }));
    tf.dispose(batch);
    step++;
    if (step % 3 === 0) await accelerator.saveState();
    console.log(`step ${step} ${place}`);
    if (step === steps) break;
  }
}
console.log(`weights ${hashOfWeights(task.model)}`);
await accelerator.endTraining();
