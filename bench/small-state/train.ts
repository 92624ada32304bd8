/**
 * Trains a GPT of 110 M parameters for some steps, and writes what each parameter takes between steps
 * and at the peak: `bench/small-state/train.ts job.json`. Started by small-state.mjs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Accelerator, adamw } from '@acc/core';
import { memoryStats, numThreads, resetPeakMemory, setNumThreads } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { createGpt } from '../models/gpt.js';
import { countParameters, seededRandom } from '../models/model.js';
import { versions } from '../training.js';

interface Job {
  readonly stateBits: 32 | 8 | 4;
  readonly isChunked: boolean;
  readonly steps: number;
  readonly resultPath: string;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const SIZES = { layers: 12, width: 768, heads: 12, sequence: 256, vocabulary: 16_384 };

setNumThreads(1);
const accelerator = await Accelerator.create({ strategy: 'single' });
const model = createGpt(tf, { ...SIZES, chunkedHead: job.isChunked });
const parameters = countParameters(model);
const optimizer = adamw({ learningRate: 3e-4, stateBits: job.stateBits });
accelerator.prepare([...model.variables], optimizer);
const batch = model.makeBatch(1, seededRandom(1));

function step(): number {
  const loss = () => model.loss(batch, true);
  return tf.tidy(() => optimizer.minimize(loss, true, [...model.variables])!.dataSync()[0]!);
}

step();
const restingBytes = memoryStats().allocatedBytes;
resetPeakMemory();
const start = performance.now();
const losses = Array.from({ length: job.steps }, step);
const stepMs = (performance.now() - start) / job.steps;
const { peakAllocatedBytes: peakBytes } = memoryStats();
const result = {
  ...{ parameters, restingBytes, peakBytes, stepMs, losses, threads: numThreads(), versions: versions() },
};
writeFileSync(job.resultPath, JSON.stringify(result));
await accelerator.endTraining();
