import * as tf from '@tensorflow/tfjs';
import type { LayerCase } from './layer-case.js';
import { seededRandom } from '@acc/testkit';

const BATCH = 4;

/** The number of samples of a case. */
export const batchOf = ({ batch = BATCH }: LayerCase): number => batch;

/** Ids in the inputs are smaller than this. 0 is padding. */
const IDS = 7;

/** The inputs of a case, including the batch dim. The caller disposes them. */
export function makeInputs(layerCase: LayerCase): tf.Tensor[] {
  const { inputs, holds } = layerCase;
  const batch = batchOf(layerCase);
  const random = seededRandom(2);
  return inputs.map((shape) => {
    const values = Array.from({ length: batch * sizeOf(shape) }, random);
    if (holds === 'ids') return tf.tensor(values.map(toId), [batch, ...shape]);
    const floats = values.map((value) => 2 * value - 1);
    return tf.tensor(holds === 'padded' ? padded(floats, shape) : floats, [batch, ...shape]);
  });
}

const toId = (value: number): number => Math.floor(value * IDS);

/** Sample i of `[steps, width]` has i padded steps. */
function padded(values: readonly number[], [steps, width]: readonly number[]): number[] {
  return values.map((value, at) => {
    const sample = Math.floor(at / (steps! * width!));
    const step = Math.floor(at / width!) % steps!;
    return step < steps! - sample ? value : 0;
  });
}

/** Targets for an output of `shape`, including the batch dim. The caller disposes them. */
export function makeTargets(layerCase: LayerCase, shape: readonly number[], seed: number): tf.Tensor {
  const { targets } = layerCase;
  const batch = batchOf(layerCase);
  const random = seededRandom(3 + seed);
  const classes = shape.at(-1)!;
  if (targets === 'classes') {
    const ids = Array.from({ length: batch }, () => Math.floor(random() * classes));
    return tf.tensor(ids, [batch, 1]);
  }
  const values = Array.from({ length: batch * sizeOf(shape) }, (_, at) => {
    const row = Math.floor(at / classes);
    return targets === 'oneHot' ? Number(at % classes === (2 * row) % classes) : random();
  });
  return tf.tensor(values, [batch, ...shape]);
}

/** Sets all weights of a model to different numbers. Variances stay positive. */
export function setWeights(model: tf.LayersModel): void {
  const random = seededRandom(4);
  for (const weight of model.weights) {
    const isVariance = weight.originalName.includes('variance');
    const values = Array.from({ length: sizeOf(weight.shape as number[]) }, () =>
      isVariance ? 0.5 + random() : 1.2 * random() - 0.6,
    );
    const tensor = tf.tensor(values, weight.shape as number[]);
    weight.write(tensor);
    tensor.dispose();
  }
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((size, length) => size * length, 1);
