import type { DataType, Tensor } from '@tensorflow/tfjs-core';
import type { Box } from '../format/boxes.js';

/** Receives the values of a weight, or of those of its elements that a rank holds. */
export interface WeightReceiver {
  readonly name: string;
  /** The name of the variable, which no other variable of this process has. */
  readonly variable: string;
  /** The shape of the whole weight. */
  readonly shape: readonly number[];
  readonly dtype: DataType;
  /** The boxes of the weight that are read. */
  readonly boxes: readonly Box[];
  /**
   * Assigns the values of the boxes, which are in the order of `boxes`. The caller disposes the
   * tensors.
   */
  assign(values: readonly Tensor[]): void;
}
