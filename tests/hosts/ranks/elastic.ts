// Trains deterministically, from the newest checkpoint if there is one, and prints each step. It
// takes as many steps as a file permits so far. Arguments: the folder of checkpoints, that file, the
// number of steps.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { mlp } from '../../e2e/ranks/deterministic-models.js';

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
const { model: built, xs, ys, loss } = mlp(5 * BATCH);
const loader = new DataLoader({ xs, ys }, { batchSize: BATCH, shuffle: true });
const [model, optimizer, data] = accelerator.prepare(built, tf.train.adam(0.001), loader);
const restored = await accelerator.loadState('latest', { ifPresent: true });
let step = restored?.step ?? 0;
const round = process.env['ACC_RESTART_COUNT'] ?? '0';
const place = `round ${round} rank ${accelerator.processIndex}/${accelerator.numProcesses}`;
console.log(`at ${step} ${place} pid ${process.pid} on ${hostname()}`);

while (step < steps) {
  for await (const batch of data) {
    while (Number(readFileSync(permitted, 'utf8')) <= step) await sleep(10);
    const given = batch as { xs: tf.Tensor; ys: tf.Tensor };
    optimizer.minimize(() => {
      const logits = model.apply(given.xs, { training: true }) as tf.Tensor;
      return loss(given.ys, logits.mul(tf.randomUniform([given.xs.shape[0]!, 1], 0.9, 1.1))).asScalar();
    });
    tf.dispose(batch);
    step++;
    if (step % 3 === 0) await accelerator.saveState();
    console.log(`step ${step} ${place}`);
    if (step === steps) break;
  }
}
const hash = createHash('sha256');
for (const weight of built.getWeights()) hash.update(new Uint8Array(weight.dataSync().buffer));
console.log(`weights ${hash.digest('hex')}`);
await accelerator.endTraining();
