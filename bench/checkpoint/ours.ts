/**
 * Saves and loads a run with tfjs + Accelerate, on one rank: `node --import tsx
 * bench/checkpoint/ours.ts job.json`. Each line of standard input is a command and a path. Each
 * line of output has the time in ms.
 */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setImmediate as turn } from 'node:timers/promises';
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { countParameters, createModel, seededRandom, type Sizes } from '../models/index.js';
import { versions } from '../training.js';
import { writeDirect, writeRaw } from './write-raw.js';

interface Job {
  readonly sizes: Sizes;
  readonly parameterCount: number;
  /** Steps that are taken during an async save, and without one. */
  readonly steps: number;
  readonly seed: number;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu', seed: job.seed });
const bench = createModel(tf, 'gpt', job.sizes);
const parameterCount = countParameters(bench);
if (parameterCount !== job.parameterCount) throw new Error(`${parameterCount} parameters`);
const [, optimizer] = accelerator.prepare(bench.trainable, tf.train.adam(1e-4));
const { xs, ys } = bench.makeBatch(1, seededRandom(job.seed));

/** Lets the event loop run, as a loop over data does. */
async function takeSteps(count: number): Promise<void> {
  for (let step = 0; step < count; step++) {
    optimizer.minimize(() => bench.loss({ xs, ys }, true));
    await turn();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The bytes of weights and two moments in float32. */
const bytes = 3 * 4 * job.parameterCount;

const commands: Record<string, (path: string) => Promise<object>> = {
  /** Adam's state exists from the first step on. */
  step: async () => ({ stepMs: await timed(() => takeSteps(1)) }),
  raw: async (path) => ({ rawMs: await timed(() => writeRaw(path, bytes)) }),
  direct: async (path) => ({ directMs: await timed(() => writeDirect(path, bytes)) }),
  save: async (path) => ({ saveMs: await timed(() => accelerator.saveState(path)) }),
  load: async (path) => ({
    loadMs: await timed(() => accelerator.loadState(path)),
    firstStepMs: await timed(() => takeSteps(1)),
  }),
  async async(path) {
    const aloneMs = await timed(() => takeSteps(job.steps));
    const stillMs = await timed(() => accelerator.saveState(path, { async: true }));
    const besideMs = await timed(() => takeSteps(job.steps));
    const restMs = await timed(() => accelerator.waitForCheckpoint());
    return { aloneMs, stillMs, besideMs, restMs };
  },
};

const answer = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
answer({ versions: versions() });
for await (const line of createInterface({ input: process.stdin })) {
  const [command, path] = line.split(' ') as [string, string];
  answer(await commands[command]!(path));
}
await accelerator.endTraining();
