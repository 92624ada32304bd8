/**
 * Times training steps of one model on tfjs-node's backend: `node --import tsx
 * bench/tfjs-node/train.ts job.json` without the Accelerator, `acc launch bench/tfjs-node/train.ts
 * job.json` with it. It writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { countParameters, createModel, seededRandom } from '../models/index.js';
import type { Job } from '../training.js';

interface TfjsNodeJob extends Job {
  /** The folder of a project that has tfjs-node, and this repository's copy of tfjs. */
  readonly tfjsNode: string;
  readonly isAlone: boolean;
  /** Whether gradients go through tfjs's own walk over the tape, although the Accelerator is there. */
  readonly hasOwnWalk: boolean;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as TfjsNodeJob;
const addon = createRequire(join(job.tfjsNode, 'package.json'))('@tensorflow/tfjs-node') as {
  version: Record<string, string>;
};
await tf.setBackend('tensorflow');

const accelerator = job.isAlone
  ? undefined
  : await Accelerator.create({
      engine: 'tfjs',
      seed: job.seed,
      mixedPrecision: job.precision === 'fp32' ? 'no' : job.precision,
    });
const bench = createModel(tf, job.model, job.sizes);
const parameterCount = countParameters(bench);
const adam = tf.train.adam(job.learningRate);
const optimizer = accelerator ? accelerator.prepare(bench.trainable, adam)[1] : adam;
const random = seededRandom(job.seed);
const batches = Array.from({ length: job.batches }, () => bench.makeBatch(job.batch, random));
// Accelerate's walk is an own property of the engine, which hides the method of the class.
if (job.hasOwnWalk) delete (tf.engine() as unknown as { gradients?: unknown }).gradients;

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

/** Bytes of this process in memory: now, or at most since its start. */
function residentBytes(name: 'VmRSS' | 'VmHWM'): number {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))!;
  return 1024 * Number(kib);
}

const restingBytes = residentBytes('VmRSS');
const firstLoss = runSteps(1);
runSteps(job.warmupSteps);
const counts = () => [tf.memory().numTensors, numNative()];
const numNative = () => (tf.backend() as unknown as { getNumOfTFTensors(): number }).getNumOfTFTensors();
const before = counts().join();
const blockMs: number[] = [];
const cpuMs: number[] = [];
let lastLoss = firstLoss;
for (let block = 0; block < job.blocks; block++) {
  const start = performance.now();
  const cpuStart = process.cpuUsage();
  lastLoss = runSteps(job.steps);
  blockMs.push(performance.now() - start);
  const cpu = process.cpuUsage(cpuStart);
  cpuMs.push((cpu.user + cpu.system) / 1e3);
}
if (counts().join() !== before)
  throw new Error(`${job.model}: tensors leaked: ${before}, then ${counts().join()}`);

const result = {
  ranks: 1,
  threads: job.threads,
  device: 'cpu',
  engine: tf.getBackend(),
  parameterCount,
  firstLoss,
  lastLoss,
  blockMs,
  cpuMs,
  peakBytes: residentBytes('VmHWM') - restingBytes,
  versions: {
    node: process.versions.node,
    tfjs: tf.version['tfjs-core'],
    'tfjs-node': addon.version['tfjs-node'],
    TensorFlow: (tf.backend() as unknown as { binding: { TF_Version: string } }).binding.TF_Version,
  },
};
writeFileSync(job.resultPath, JSON.stringify(result));
await accelerator?.endTraining();
