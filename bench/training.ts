import { Accelerator } from '@acc/core';
import { numThreads, torchVersion } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { countParameters, createModel, seededRandom, type Sizes } from './models/index.js';

/** What one process is to measure; `harness/measure.mjs` writes it. */
export interface Job {
  readonly model: string;
  readonly sizes: Sizes;
  readonly batch: number;
  /** How many different batches each rank goes through, again and again. */
  readonly batches: number;
  readonly parameterCount: number;
  readonly learningRate: number;
  readonly device: 'cpu' | 'cuda';
  readonly precision: 'fp32' | 'bf16' | 'fp16';
  readonly threads: number;
  readonly warmupSteps: number;
  readonly steps: number;
  readonly blocks: number;
  readonly seed: number;
  /** Whether a step is recorded and replayed: `accelerator.compile`. */
  readonly compile: boolean;
  readonly resultPath: string;
}

/** A model that has taken its warm-up steps. */
export interface Training {
  readonly accelerator: Accelerator;
  readonly parameterCount: number;
  readonly firstLoss: number;
  /** Takes `count` steps and returns the last loss: the only one read. On a GPU, reading waits for all of them. */
  runSteps(count: number): number;
  /** As `runSteps`, on batches of another size, made here. */
  stepsOn(batch: number): (count: number) => number;
}

/**
 * The training loop as a user of tfjs + Accelerate writes it, ready to be measured.
 *
 * @throws Error when the model has another number of parameters than the job says.
 */
export async function startTraining(job: Job): Promise<Training> {
  const { device, seed, precision } = job;
  const mixedPrecision = precision === 'fp32' ? 'no' : precision;
  const accelerator = await Accelerator.create({ engine: 'acc', device, seed, mixedPrecision });
  const bench = createModel(tf, job.model, job.sizes);
  const parameterCount = countParameters(bench);
  if (parameterCount !== job.parameterCount) {
    throw new Error(`${job.model}: ${parameterCount} parameters, expected ${job.parameterCount}`);
  }
  const [, optimizer] = accelerator.prepare(bench.trainable, tf.train.adam(job.learningRate));

  const random = seededRandom(seed + accelerator.processIndex);
  const plain = (xs: tf.Tensor, ys: tf.Tensor) =>
    optimizer.minimize(() => bench.loss({ xs, ys }, true), true)!;
  const compiled = job.compile ? accelerator.compile(plain) : undefined;
  const takeStep = compiled ?? plain;

  function stepsOn(batch: number) {
    const batches = Array.from({ length: job.batches }, () => bench.makeBatch(batch, random));
    return (count: number): number => {
      let loss: tf.Scalar | null = null;
      for (let step = 0; step < count; step++) {
        loss?.dispose();
        const { xs, ys } = batches[step % batches.length]!;
        loss = takeStep(xs, ys);
      }
      const value = loss!.dataSync()[0]!;
      loss!.dispose();
      return value;
    };
  }

  const runSteps = stepsOn(job.batch);
  const firstLoss = runSteps(1);
  runSteps(job.warmupSteps);
  if (compiled && compiled.replays === 0) throw new Error(`${job.model} is not replayed: ${compiled.reason}`);
  return { accelerator, parameterCount, firstLoss, runSteps, stepsOn };
}

/** What a process reports: what it measured, and what it was measured on. */
export function reportOf({ accelerator, parameterCount, firstLoss }: Training, measured: object): string {
  return JSON.stringify({
    ranks: accelerator.numProcesses,
    threads: numThreads(),
    device: accelerator.device,
    engine: accelerator.backendName,
    parameterCount,
    firstLoss,
    ...measured,
    versions: versions(),
  });
}

/** What ran, for the report. */
export function versions(): Record<string, string> {
  return { node: process.versions.node, tfjs: tf.version['tfjs-core'], libtorch: torchVersion() };
}
