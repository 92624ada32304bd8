// A small model with experts, its data, and plain tfjs loops over the parts of all ranks.
import { adafactor, lamb, type Accelerator } from '@acc/core';
import { transformerBlock, type moe } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';

export const STEPS = 6;
export const [SEQUENCES, LENGTH, WIDTH] = [3, 4, 6];

export interface Case {
  /** Of the layer. */
  readonly experts: Parameters<typeof moe>[0];
  readonly microBatches?: number;
  readonly clipNorm?: number;
  readonly checkpointEvery?: number;
  /** Default: Adam. */
  readonly optimizer?: 'lamb' | 'adafactor';
}

export const CASES: Readonly<Record<string, Case>> = {
  'two experts a token': { experts: { experts: 4, topK: 2, sharedExperts: 1 } },
  'a capacity': {
    optimizer: 'adafactor',
    experts: { experts: 4, topK: 1, capacityFactor: 1, balanceLoss: 0.2, zLoss: 0.05 },
  },
  'clipped and accumulated': {
    optimizer: 'lamb',
    experts: { experts: 2, topK: 1 },
    microBatches: 2,
    clipNorm: 0.05,
  },
  'computed again': { experts: { experts: 6, topK: 2 }, checkpointEvery: 1 },
};

/** Numbers that repeat in no dim. */
const wave = (shape: number[], phase: number): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.add(tf.mul(tf.range(0, tf.util.sizeFromShape(shape)), 1.7), phase)).reshape(shape));

export function modelOf({ experts }: Case): tf.LayersModel {
  const input = tf.input({ shape: [LENGTH, WIDTH] });
  const block = transformerBlock({ heads: 2, moe: experts, innerUnits: 8, name: 'block' });
  const output = tf.layers.dense({ units: 2, name: 'out' });
  const model = tf.model({
    inputs: input,
    outputs: output.apply(block.apply(input)) as tf.SymbolicTensor,
  });
  model.weights.forEach((weight, i) => {
    tf.tidy(() => void weight.write(wave(weight.shape as number[], i).mul(0.5)));
  });
  return model;
}

/** The experts of {@link modelOf}. */
export function expertsOf(model: tf.LayersModel): ReturnType<typeof moe> {
  const block = model.getLayer('block') as unknown as { readonly layers: readonly unknown[] };
  return block.layers.at(-1) as ReturnType<typeof moe>;
}

/** The rows of one rank in one micro-batch. The caller disposes them. */
export function batchOf(step: number, rank: number): { x: tf.Tensor; y: tf.Tensor } {
  return tf.tidy(() => {
    const x = wave([SEQUENCES, LENGTH, WIDTH], step * 31 + rank * 7);
    return { x, y: tf.sum(tf.square(x), -1, true).sub(2).tanh().tile([1, 1, 2]) };
  });
}

export function lossOf(model: tf.LayersModel, { x, y }: { x: tf.Tensor; y: tf.Tensor }): tf.Scalar {
  return tf.losses.meanSquaredError(y, model.apply(x, { training: true }) as tf.Tensor);
}

export function optimizerOf({ optimizer }: Case = UNDIVIDED): tf.Optimizer {
  if (optimizer === 'lamb') return lamb({ learningRate: 0.02, epsilon: 1e-3 });
  // The gradient of a bias of keys is 0 but for roundings, which the default of epsilon1, 1e-30, makes
  // as large as other gradients.
  if (optimizer === 'adafactor') return adafactor({ learningRate: 0.02, epsilon1: 1e-6 });
  return tf.train.adam(0.01, 0.9, 0.999, 1e-3);
}

/** A job and one process may divide the rows of this one as they like. */
export const UNDIVIDED: Case = { experts: { experts: 4, topK: 2, balanceLoss: 0, zLoss: 0 } };

/** With a loss scale. The router's losses are a large part of the gradients. */
export const HALF: Case = { experts: { experts: 4, topK: 1, balanceLoss: 0.5, zLoss: 0.1 } };

/** Trains on the rows of some ranks, each in a micro-batch of its own. Returns their mean losses. */
export function trainSteps(
  accelerator: Accelerator,
  { model, optimizer }: { model: tf.LayersModel; optimizer: tf.Optimizer },
  { steps, parts }: { steps: readonly number[]; parts: readonly number[] },
): number[] {
  return steps.map((step) =>
    tf.tidy(() => {
      const losses = parts.map((part) => {
        const batch = batchOf(step, part);
        return accelerator.accumulate(() => optimizer.minimize(() => lossOf(model, batch), true)!);
      });
      return accelerator.reduce(tf.div<tf.Scalar>(tf.addN(losses), parts.length), 'mean').dataSync()[0]!;
    }),
  );
}

export function weightsOf(accelerator: Accelerator, model: tf.LayersModel): Record<string, number[]> {
  const state = accelerator.getStateDict(model);
  const entries = Object.entries(state).map(([name, value]) => [name, Array.from(value.dataSync())] as const);
  tf.dispose(state);
  return Object.fromEntries(entries);
}

/** Eleven rows, so that the last batch of 4 is short, and ranks have different numbers of rows of it. */
export const FITTED = { rows: 11, batchSize: 4, epochs: 2 };

/** `fit` of {@link UNDIVIDED}, then `evaluate` and `predict`. */
export async function fitted(model: tf.LayersModel): Promise<{ losses: number[]; predicted: number[] }> {
  const { rows, batchSize, epochs } = FITTED;
  const [x, y] = [wave([rows, LENGTH, WIDTH], 0.4), wave([rows, LENGTH, 2], 2)];
  const { history } = await model.fit(x, y, { batchSize, epochs, shuffle: false, verbose: 0 });
  const evaluated = model.evaluate(x, y, { batchSize }) as tf.Scalar;
  const predicted = model.predict(x) as tf.Tensor;
  const losses = [...(history['loss'] as number[]), evaluated.dataSync()[0]!];
  return { losses, predicted: Array.from(predicted.dataSync()) };
}

export interface Trained {
  /** The mean of all ranks in each step. */
  readonly losses: number[];
  readonly weights: Readonly<Record<string, number[]>>;
  /** The assignments that were dropped, over all ranks and steps. */
  readonly dropped: number;
}

/** The results for `ranks` ranks together, computed by tfjs alone. */
export function trainAlone(given: Case, ranks: number): Trained {
  const model = modelOf(given);
  const { microBatches = 1, clipNorm } = given;
  const optimizer = optimizerOf(given);
  const losses: number[] = [];
  let dropped = 0;
  for (let step = 0; step < STEPS; step++) {
    tf.tidy(() => {
      const parts = Array.from({ length: ranks * microBatches }, (_, part) => {
        const micro = Math.floor(part / ranks);
        const batch = batchOf(step * microBatches + micro, part % ranks);
        const found = optimizer.computeGradients(() => lossOf(model, batch));
        dropped += expertsOf(model).droppedTokens;
        return found;
      });
      const mean = (list: tf.Tensor[]) => tf.div(tf.addN(list), list.length);
      losses.push(mean(parts.slice(-ranks).map(({ value }) => value)).dataSync()[0]!);
      const names = Object.keys(parts[0]!.grads);
      const grads = names.map((name) => mean(parts.map(({ grads }) => grads[name]!)));
      const norm = tf.sqrt(tf.addN(grads.map((grad) => tf.sum(tf.square(grad)))));
      const factor = clipNorm === undefined ? 1 : tf.minimum(tf.div(clipNorm, norm), 1);
      optimizer.applyGradients(Object.fromEntries(names.map((name, i) => [name, tf.mul(grads[i]!, factor)])));
    });
  }
  const weights = Object.fromEntries(
    model.weights.map((weight) => [weight.originalName, Array.from(weight.read().dataSync())]),
  );
  model.dispose();
  optimizer.dispose();
  return { losses, weights, dropped };
}
