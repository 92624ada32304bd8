import type { TensorInfo } from '@tensorflow/tfjs-core';

/** How a tensor is made that nobody has read yet. The caller owns what the functions return. */
export interface Recipe {
  /** The inputs of the computation. They stay alive until then. */
  readonly inputs: readonly TensorInfo[];
  /** Makes all values. */
  whole(): TensorInfo;
  /** Makes this rank's columns alone. */
  own(): TensorInfo;
}

/** The state of a `TensorData` until its values are made. */
export interface LazyValues {
  /** The length of the last dim when the tensor was created. A reshape keeps it, or joins rows. */
  readonly columns: number;
  readonly making: Recipe;
  release(): void;
}
