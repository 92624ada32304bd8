import { Accelerator } from '@acc/core';
import { setSeed } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { createModel, seededRandom, type Sizes } from '../models/index.js';
import { createTask } from './tasks.js';

export interface Training {
  readonly model: string;
  readonly sizes: Sizes;
  readonly batch: number;
  readonly learningRate: number;
  readonly steps: number;
  readonly precision: 'fp32' | 'bf16' | 'fp16';
  readonly seed: number;
}

export interface Trained {
  /** The loss on data that was not trained on, in float32, without dropout. */
  readonly loss: number;
  /** The mean loss of the last steps. */
  readonly trainingLoss: number;
  readonly firstLoss: number;
  readonly skippedSteps: number;
}

const TEST_BATCHES = 8;
const LAST_STEPS = 20;

/** Trains from the same weights on the same data with the same dropout, for any precision. */
export async function trainToTheEnd(training: Training): Promise<Trained> {
  const { model, sizes, batch, learningRate, steps, precision, seed } = training;
  const { random: own } = Math;
  // tfjs's initializers draw their seeds from Math.random.
  Math.random = seededRandom(seed);
  try {
    const mixedPrecision = precision === 'fp32' ? 'no' : precision;
    const accelerator = await Accelerator.create({ engine: 'acc', mixedPrecision, seed });
    setSeed(seed);
    const bench = createModel(tf, model, sizes);
    const draw = createTask(tf, model, sizes, seededRandom(seed + 1));
    const [, optimizer] = accelerator.prepare(bench.trainable, tf.train.adam(learningRate));
    const random = seededRandom(seed + 2);
    const losses: number[] = [];
    let skippedSteps = 0;
    for (let step = 0; step < steps; step++) {
      const data = draw(batch, random);
      const loss = optimizer.minimize(() => bench.loss(data, true), true)!;
      losses.push(loss.dataSync()[0]!);
      if (accelerator.optimizerStepWasSkipped) skippedSteps++;
      tf.dispose([loss, data.xs, data.ys]);
    }
    const test = Array.from({ length: TEST_BATCHES }, () => {
      const data = draw(batch, random);
      return tf.tidy(() => {
        const loss = bench.loss(data, false).dataSync()[0]!;
        tf.dispose([data.xs, data.ys]);
        return loss;
      });
    });
    accelerator.freeMemory();
    tf.dispose([...bench.variables]);
    return {
      loss: mean(test),
      trainingLoss: mean(losses.slice(-LAST_STEPS)),
      firstLoss: losses[0]!,
      skippedSteps,
    };
  } finally {
    Math.random = own;
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
