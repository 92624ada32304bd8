// A small model with experts, its data, and plain tfjs loops over the parts of all ranks.
import { moe, transformerBlock } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';

export const STEPS = 20;
export const [SEQUENCES, LENGTH, WIDTH] = [3, 4, 6];

export interface Case {
  /** Of the layer. */
  readonly experts: Parameters<typeof moe>[0];
  readonly microBatches?: number;
  readonly clipNorm?: number;
  readonly checkpointEvery?: number;
  readonly bf16?: boolean;
}

export const CASES: Readonly<Record<string, Case>> = {
  'two experts a token': { experts: { experts: 4, topK: 2, sharedExperts: 1 } },
  'a capacity': { experts: { experts: 4, topK: 1, capacityFactor: 1, balanceLoss: 0.2, zLoss: 0.05 } },
  'clipped and accumulated': { experts: { experts: 2, topK: 1 }, microBatches: 2, clipNorm: 0.05 },
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
  const block = model.getLayer('block') as tf.layers.Layer & { layers: tf.layers.Layer[] };
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

export const optimizerOf = () => tf.train.adam(0.01, 0.9, 0.999, 1e-3);

export interface Trained {
  /** The mean of all ranks in each step. */
  readonly losses: number[];
  readonly weights: Readonly<Record<string, number[]>>;
  /** The assignments that were dropped, over all ranks and steps. */
  readonly dropped: number;
}

/** What `ranks` ranks together compute, by tfjs alone. */
export function trainAlone(given: Case, ranks: number): Trained {
  const model = modelOf(given);
  const { microBatches = 1, clipNorm } = given;
  const optimizer = optimizerOf();
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
