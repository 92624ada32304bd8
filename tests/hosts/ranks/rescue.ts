// Trains deterministically without ever saving a checkpoint, from what ranks have kept in memory if
// there is something, and prints each step. It takes as many steps as a file permits so far.
// Under fsdp nothing is random, and weights are those of one rank up to rounding. Arguments: the
// strategy, that file, the number of steps.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { mlp } from '../../e2e/ranks/deterministic-models.js';
import { hashOfWeights, noisyLoss } from '../../e2e/ranks/deterministic-runs.js';

const [kind, permitted, stepsText] = process.argv.slice(2) as ['ddp' | 'hybrid', string, string];
const steps = Number(stepsText);
const BATCH = 16;

const sharded: AcceleratorOptions = { strategy: 'fsdp', fsdp: { stage: 'HYBRID_SHARD' } };
const accelerator = await Accelerator.create({
  deterministic: kind === 'ddp',
  dataLoader: { splitBatches: true },
  ...(kind === 'hybrid' && sharded),
});
const task = kind === 'ddp' ? mlp(5 * BATCH) : { ...mlp(5 * BATCH), model: plain() };
const made = kind === 'ddp' ? tf.train.adam(0.001) : tf.train.momentum(0.05, 0.9);
const loader = new DataLoader({ xs: task.xs, ys: task.ys }, { batchSize: BATCH, shuffle: true });
const [, optimizer, data] = accelerator.prepare(task.model, made, loader);
const restored = await accelerator.loadState('latest', { ifPresent: true });
let step = restored?.step ?? 0;
const round = process.env['ACC_RESTART_COUNT'] ?? '0';
const place = `round ${round} rank ${accelerator.processIndex}/${accelerator.numProcesses}`;
console.log(`at ${step} ${place} pid ${process.pid} on ${hostname()}`);

while (step < steps) {
  for await (const batch of data) {
    while (Number(readFileSync(permitted, 'utf8')) <= step) await sleep(10);
    optimizer.minimize(() => lossOf(batch as { xs: tf.Tensor; ys: tf.Tensor }));
    // A collective between the update and the next batch: a rank may be lost there, too.
    if (kind === 'ddp') accelerator.gatherObject([step]);
    tf.dispose(batch);
    step++;
    console.log(`step ${step} ${place}`);
    if (step === steps) break;
  }
}
// Every rank reads, because ranks gather together.
const values = kind === 'hybrid' && task.model.getWeights().map((weight) => Array.from(weight.dataSync()));
console.log(`weights ${values ? JSON.stringify(values.flat()) : hashOfWeights(task.model)}`);
await accelerator.endTraining();

/** Without dropout: each rank draws its own numbers. */
function plain(): tf.LayersModel {
  const initializer = (seed: number) => tf.initializers.glorotNormal({ seed });
  const layers = [
    tf.layers.dense({ inputShape: [20], units: 33, activation: 'tanh', kernelInitializer: initializer(1) }),
    tf.layers.dense({ units: 5, kernelInitializer: initializer(3) }),
  ];
  return tf.sequential({ layers });
}

function lossOf({ xs, ys }: { xs: tf.Tensor; ys: tf.Tensor }): tf.Scalar {
  if (kind === 'ddp') return noisyLoss(task, { xs, ys });
  return task.loss(ys, task.model.apply(xs) as tf.Tensor).asScalar();
}
