/**
 * Trains the convnet on data of a DataLoader and reads the monitor's figures: how long a step waits
 * for data. `acc launch -n 1 bench/data/waiting.ts job.json`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Tracker } from '@acc/contract';
import { Accelerator, DataLoader } from '@acc/core';
import { shaped } from '@acc/data';
import * as tf from '@tensorflow/tfjs';
import { createModel, seededRandom, type Sizes } from '../models/index.js';

interface Job {
  readonly model: string;
  readonly sizes: Sizes;
  readonly batch: number;
  readonly learningRate: number;
  readonly steps: number;
  readonly warmupSteps: number;
  readonly resultPath: string;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const SAMPLES = 60 * job.batch;

/** Figures of the monitor, by name; one for every `EVERY` steps. */
const figures: Record<string, number[]> = {};
const EVERY = 20;
const tracker: Tracker = {
  name: 'figures',
  start: async () => {},
  finish: async () => {},
  log(step, metrics) {
    if (step < job.warmupSteps) return;
    for (const [name, value] of Object.entries(metrics)) (figures[name] ??= []).push(value);
  },
};

const accelerator = await Accelerator.create({
  device: 'cpu',
  projectDir: dirname(job.resultPath),
  logWith: [tracker],
  autoLog: { every: EVERY, system: false },
});
await accelerator.initTrackers('waiting');
const bench = createModel(tf, job.model, job.sizes);
const random = seededRandom(1);
const made = bench.makeBatch(SAMPLES, random);
const pixels = made.xs.dataSync() as Float32Array;
const labels = made.ys.dataSync() as Float32Array;
const [xSize, ySize] = [pixels.length / SAMPLES, labels.length / SAMPLES];
const get = (i: number) => ({
  xs: shaped(pixels.subarray(i * xSize, (i + 1) * xSize), made.xs.shape.slice(1)),
  ys: shaped(labels.subarray(i * ySize, (i + 1) * ySize), made.ys.shape.slice(1)),
});
const loader = new DataLoader({ length: SAMPLES, get }, { batchSize: job.batch, shuffle: true });
const [, optimizer, data] = accelerator.prepare(bench.trainable, tf.train.adam(job.learningRate), loader);
tf.dispose([made.xs, made.ys]);
let step = 0;
while (step < job.steps + job.warmupSteps) {
  for await (const batch of data as unknown as AsyncIterable<typeof made>) {
    optimizer.minimize(() => bench.loss(batch, true));
    tf.dispose([batch.xs, batch.ys]);
    step++;
  }
}
await accelerator.endTraining();
const of = (name: string) => figures[name] ?? [];
writeFileSync(job.resultPath, JSON.stringify({ dataMs: of('time/data_ms'), stepMs: of('time/step_ms') }));
