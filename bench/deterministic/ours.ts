/**
 * Times training steps of one model with and without `deterministic`, in turn: `acc launch -n N
 * bench/deterministic/ours.ts job.json`. The batch is that of all ranks together.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { createModel, seededRandom, type Sizes } from '../models/index.js';
import { versions } from '../training.js';

interface Job {
  readonly model: string;
  readonly sizes: Sizes;
  readonly batch: number;
  readonly learningRate: number;
  readonly warmupSteps: number;
  readonly steps: number;
  readonly blocks: number;
  readonly virtualShards: readonly number[];
  readonly resultPath: string;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const BATCHES = 4;

/** Milliseconds per step, from the first step after the warm-up. */
async function timeSteps(deterministic: { virtualShards: number } | false): Promise<number> {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    device: 'cpu',
    strategy: 'ddp',
    dataLoader: { splitBatches: true },
    deterministic,
  });
  const bench = createModel(tf, job.model, job.sizes);
  const optimizer = tf.train.adam(job.learningRate);
  const random = seededRandom(1);
  const made = Array.from({ length: BATCHES }, () => bench.makeBatch(job.batch, random));
  const [, , data] = accelerator.prepare(bench.trainable, optimizer, made);
  let step = -job.warmupSteps;
  let start = 0;
  while (step < job.steps) {
    for await (const batch of data) {
      if (step === 0) {
        accelerator.waitForEveryone();
        start = performance.now();
      }
      if (step < job.steps) optimizer.minimize(() => bench.loss(batch, true));
      tf.dispose([batch.xs, batch.ys]);
      step++;
    }
  }
  accelerator.waitForEveryone();
  const ms = (performance.now() - start) / job.steps;
  accelerator.freeMemory();
  tf.dispose(made.flatMap(({ xs, ys }) => [xs, ys]));
  for (const variable of bench.variables) variable.dispose();
  return ms;
}

const kinds = [false as const, ...job.virtualShards.map((virtualShards) => ({ virtualShards }))];
const stepMs = kinds.map((): number[] => []);
for (let block = 0; block < job.blocks; block++) {
  for (const [i, kind] of kinds.entries()) stepMs[i]!.push(await timeSteps(kind));
}
const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu' });
if (accelerator.isMainProcess) {
  const [plain, ...byShards] = stepMs;
  writeFileSync(job.resultPath, JSON.stringify({ plain, byShards, versions: versions() }));
}
await accelerator.endTraining();
