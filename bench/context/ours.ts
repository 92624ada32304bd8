/**
 * Trains transformer blocks on long sequences that ranks hold in pieces: `acc launch -n 2
 * bench/context/ours.ts job.json`. The first rank reports the time of a step and its peak of memory.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { memoryStats } from '@acc/native';
import { transformerBlock } from '@acc/transformer';
import { versions } from '../training.js';

interface Job {
  readonly attention: 'ring' | 'heads';
  readonly isCausal: boolean;
  readonly length: number;
  readonly units: number;
  readonly heads: number;
  readonly blocks: number;
  readonly steps: number;
  readonly resultPath: string;
}

const WARMUP_STEPS = 1;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const { attention, isCausal, units, heads } = job;
const accelerator = await Accelerator.create({ mesh: { context: -1 }, context: { attention } });
const input = tf.input({ shape: [null, units] });
let y = input;
for (let i = 0; i < job.blocks; i++) {
  y = transformerBlock({ heads, causal: isCausal, rotary: true }).apply(y) as tf.SymbolicTensor;
}
const model = tf.model({ inputs: input, outputs: y });
const [, optimizer] = accelerator.prepare(model, tf.train.adam(1e-4));
const x = tf.randomNormal([1, job.length / accelerator.numProcesses, units]);

const times: number[] = [];
const before = memoryStats().allocatedBytes;
accelerator.resetPeakMemory();
for (let step = 0; step < WARMUP_STEPS + job.steps; step++) {
  accelerator.waitForEveryone();
  const startMs = performance.now();
  const loss = optimizer.minimize(() => tf.mean(tf.square(model.apply(x) as tf.Tensor)), true)!;
  loss.dataSync();
  loss.dispose();
  accelerator.waitForEveryone();
  if (step >= WARMUP_STEPS) times.push(performance.now() - startMs);
}
const peakBytes = memoryStats().peakAllocatedBytes - before;
if (accelerator.isMainProcess) {
  writeFileSync(job.resultPath, JSON.stringify({ times, peakBytes, versions: versions() }));
}
await accelerator.endTraining();
