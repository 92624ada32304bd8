import { Accelerator, adamw, type AcceleratorOptions } from '@acc/core';
import { numThreads, torchVersion } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { countParameters, createModel, seededRandom, type Sizes } from './models/index.js';

/** The job of one process, which `harness/measure.mjs` writes. */
export interface Job {
  readonly model: string;
  readonly sizes: Sizes;
  readonly batch: number;
  /** The number of different batches that each rank uses in turn. */
  readonly batches: number;
  readonly parameterCount: number;
  readonly learningRate: number;
  readonly device: 'cpu' | 'cuda';
  readonly precision: 'fp32' | 'bf16' | 'fp16' | 'int8';
  readonly threads: number;
  readonly warmupSteps: number;
  readonly steps: number;
  readonly blocks: number;
  readonly seed: number;
  /** Whether a step is recorded and replayed: `accelerator.compile`. */
  readonly compile: boolean;
  /** How ranks share the work. Default: that of `Accelerator.create`. */
  readonly strategy?: Pick<AcceleratorOptions, 'strategy' | 'fsdp'>;
  /** Default: Adam. */
  readonly optimizer?: 'adam' | 'adamw';
  readonly resultPath: string;
}

export type TrainStep = (xs: tf.Tensor, ys: tf.Tensor) => tf.Scalar;

/** A model after its warm-up steps. */
export interface Training {
  readonly accelerator: Accelerator;
  readonly optimizer: tf.Optimizer;
  readonly parameterCount: number;
  readonly firstLoss: number;
  /**
   * Takes `count` steps and returns the last loss, the only one that is read. On a GPU, reading
   * waits for all steps.
   *
   * @param takeStep Another step. Its caller owns the loss.
   */
  runSteps(count: number, takeStep?: TrainStep): number;
  /** Like `runSteps`, with batches of another size, which it creates. */
  stepsOn(batch: number): (count: number) => number;
  /** The step as it is without `compile`. */
  readonly plainStep: TrainStep;
}

/**
 * The training loop as a user of tfjs + Accelerate writes it, ready to be measured.
 *
 * @throws Error if the number of parameters differs from that of the job.
 */
export async function startTraining(job: Job): Promise<Training> {
  const { device, seed, precision } = job;
  const mixedPrecision = precision === 'fp32' ? 'no' : precision;
  const accelerator = await Accelerator.create({
    engine: 'acc',
    device,
    seed,
    mixedPrecision,
    ...job.strategy,
  });
  const bench = createModel(tf, job.model, job.sizes);
  const parameterCount = countParameters(bench);
  if (parameterCount !== job.parameterCount) {
    throw new Error(`${job.model}: ${parameterCount} parameters, expected ${job.parameterCount}`);
  }
  const made =
    job.optimizer === 'adamw' ? adamw({ learningRate: job.learningRate }) : tf.train.adam(job.learningRate);
  const [, optimizer] = accelerator.prepare(bench.trainable, made);

  const random = seededRandom(seed + accelerator.processIndex);
  const plain: TrainStep = (xs, ys) => optimizer.minimize(() => bench.loss({ xs, ys }, true), true)!;
  const compiled = job.compile ? accelerator.compile(plain) : undefined;

  function stepsOn(batch: number) {
    const batches = Array.from({ length: job.batches }, () => bench.makeBatch(batch, random));
    return (count: number, takeStep: TrainStep = compiled ?? plain): number => {
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
  return { accelerator, optimizer, parameterCount, firstLoss, runSteps, stepsOn, plainStep: plain };
}

/** The report of a process: what it measured, and on what. */
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

/** The versions that ran, for the report. */
export function versions(): Record<string, string> {
  return { node: process.versions.node, tfjs: tf.version['tfjs-core'], libtorch: torchVersion() };
}
