/**
 * Trains a deep network of square layers with Adam, with or without offload to a folder: `acc launch
 * -n 4 bench/offload/ours.ts job.json`. Each rank reads its resident memory from the kernel.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { memoryStats } from '@acc/native';
import { versions } from '../training.js';

interface Job {
  readonly layers: number;
  readonly width: number;
  readonly batch: number;
  readonly steps: number;
  /** Undefined: without offload. */
  readonly folder?: string;
  readonly resultPath: string;
}

const WARMUP_STEPS = 2;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const { layers, width, batch, folder } = job;

/** Bytes of this process in memory: now (`VmRSS`), or at the highest so far (`VmHWM`). */
function resident(field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return 1024 * Number(new RegExp(`${field}:\\s*(\\d+) kB`).exec(status)![1]);
}

/** A network of a few layers and its step. */
function createNetwork(accelerator: Accelerator, count: number) {
  const optimizer = tf.train.adam(1e-4);
  accelerator.prepare(optimizer);
  const weights: tf.Variable<tf.Rank.R2>[] = [];
  for (let i = 0; i < count; i++) {
    // Prepared one by one, so that no rank ever holds the whole network.
    weights.push(
      tf.tidy(() => tf.variable(tf.randomNormal<tf.Rank.R2>([width, width], 0, 1 / Math.sqrt(width)))),
    );
    accelerator.prepare([weights[i]!]);
  }
  const xs = tf.randomNormal<tf.Rank.R2>([batch, width]);
  const step = () =>
    tf.tidy(() => {
      const loss = () => {
        let x = xs;
        for (const weight of weights) x = tf.tanh(tf.matMul(x, weight) as tf.Tensor2D);
        return tf.mean(tf.square(x)) as tf.Scalar;
      };
      optimizer.minimize(loss, false, weights);
    });
  const end = () => accelerator.freeMemory(...weights, optimizer, xs);
  return { weights, step, end };
}

const create = (to: string | undefined) =>
  Accelerator.create({
    strategy: 'fsdp',
    fsdp: to ? { offload: { params: true, optimizer: true, to } } : {},
  });

// The idle process: everything is loaded, compiled and connected, and has taken steps of one layer.
const small = createNetwork(await create(undefined), 1);
for (let i = 0; i < 5; i++) small.step();
small.end();
const idleBytes = resident('VmRSS');
// The peak counts from here.
writeFileSync('/proc/self/clear_refs', '5');

const accelerator = await create(folder);
const { weights, step, end } = createNetwork(accelerator, layers);
for (let i = 0; i < WARMUP_STEPS; i++) step();
accelerator.waitForEveryone();
const start = performance.now();
for (let i = 0; i < job.steps; i++) step();
accelerator.waitForEveryone();
const stepMs = (performance.now() - start) / job.steps;
const own = { idleBytes, peakBytes: resident('VmHWM'), allocatedBytes: memoryStats().peakAllocatedBytes };
const ranks = accelerator.gatherObject([own]);
const result = { ranks, stepMs, parameters: weights.length * width * width, versions: versions() };
if (accelerator.isMainProcess) writeFileSync(job.resultPath, JSON.stringify(result));
end();
await accelerator.endTraining();
