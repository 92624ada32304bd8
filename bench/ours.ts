/**
 * Times training steps of one model with tfjs + Accelerate: `acc launch -n N bench/ours.ts job.json`. The main
 * process writes what it measured to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { countParameters, createModel, seededRandom, type Sizes } from './models/index.js';

interface Job {
  readonly model: string;
  readonly sizes: Sizes;
  readonly batch: number;
  /** How many different batches each rank goes through, again and again. */
  readonly batches: number;
  readonly parameterCount: number;
  readonly learningRate: number;
  readonly warmupSteps: number;
  readonly steps: number;
  readonly blocks: number;
  readonly seed: number;
  readonly resultPath: string;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const accelerator = await Accelerator.create({ engine: 'acc', seed: job.seed });

const bench = createModel(tf, job.model, job.sizes);
const parameterCount = countParameters(bench);
if (parameterCount !== job.parameterCount) {
  throw new Error(`${job.model}: ${parameterCount} parameters, expected ${job.parameterCount}`);
}
const [, optimizer] = accelerator.prepare(bench.trainable, tf.train.adam(job.learningRate));

const random = seededRandom(job.seed + accelerator.processIndex);
const batches = Array.from({ length: job.batches }, () => bench.makeBatch(job.batch, random));

/** Takes `count` steps and returns the last loss: the only one read. */
function runSteps(count: number): number {
  let loss: tf.Scalar | null = null;
  for (let step = 0; step < count; step++) {
    loss?.dispose();
    const batch = batches[step % batches.length]!;
    loss = optimizer.minimize(() => bench.loss(batch, true), true);
  }
  const value = loss!.dataSync()[0]!;
  loss!.dispose();
  return value;
}

const firstLoss = runSteps(1);
runSteps(job.warmupSteps);
const tensorsBefore = tf.memory().numTensors;
const blockMs: number[] = [];
const cpuMs: number[] = [];
let lastLoss = firstLoss;
for (let block = 0; block < job.blocks; block++) {
  accelerator.waitForEveryone();
  const start = performance.now();
  const cpuStart = process.cpuUsage();
  lastLoss = runSteps(job.steps);
  accelerator.waitForEveryone();
  blockMs.push(performance.now() - start);
  const cpu = process.cpuUsage(cpuStart);
  cpuMs.push((cpu.user + cpu.system) / 1e3);
}
const tensorsLeaked = tf.memory().numTensors - tensorsBefore;
if (tensorsLeaked !== 0) throw new Error(`${job.model}: ${tensorsLeaked} tensors leaked in the timed steps`);

if (accelerator.isMainProcess) {
  const versions = { node: process.versions.node, tfjs: tf.version['tfjs-core'] };
  const result = {
    ranks: accelerator.numProcesses,
    engine: accelerator.backendName,
    parameterCount,
    blockMs,
    cpuMs,
    firstLoss,
    lastLoss,
    versions,
  };
  writeFileSync(job.resultPath, JSON.stringify(result));
}
await accelerator.endTraining();
