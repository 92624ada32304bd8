import type { LayersModel, Scalar, Tensor, Variable } from '@tensorflow/tfjs';

/** The tfjs module. It is passed in, so that the model and the loop use the same copy. */
export type Tf = typeof import('@tensorflow/tfjs');

/** One batch. Its tensors belong to the caller. */
export interface Batch {
  readonly xs: Tensor;
  readonly ys: Tensor;
}

/** A model as a tfjs user would write it, with everything that the loop needs. */
export interface BenchModel {
  /**
   * The argument of `accelerator.prepare`: the LayersModel, or the variables of a model made of
   * tfjs ops.
   */
  readonly trainable: LayersModel | Variable[];
  /** All trainable variables, in the order of the PyTorch peer's parameters. */
  readonly variables: readonly Variable[];
  /** A batch of `batch` samples, drawn from `random` (uniform in [0, 1)) on the host. */
  makeBatch(batch: number, random: () => number): Batch;
  /**
   * The mean loss over the batch, a float32 scalar. `training` turns dropout on. The caller owns
   * the result.
   */
  loss(batch: Batch, training: boolean): Scalar;
}

/** The number of trainable scalars. */
export function countParameters(model: BenchModel): number {
  return model.variables.reduce((sum, variable) => sum + variable.size, 0);
}

/**
 * Uniform numbers in [0, 1) from a 32-bit seed (mulberry32), so that every run trains on the same
 * data.
 */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` class ids below `classes`. */
export function randomIds(count: number, classes: number, random: () => number): Int32Array {
  return Int32Array.from({ length: count }, () => Math.floor(random() * classes));
}
