import type { Scalar, Tensor } from '@tensorflow/tfjs';

/** Inputs and labels. Their owner disposes both. */
export interface Batch {
  readonly xs: Tensor;
  /** int32, one label for each row of the logits. */
  readonly ys: Tensor;
}

/** Data that is trained on, and data that is held back. */
export interface Task {
  /** A batch of `count` examples at random. */
  draw(count: number, random: () => number): Batch;
  /** All held-back examples, in batches of `size`. */
  testBatches(size: number): Batch[];
  /** The mean loss of logits `[rows, classes]`. */
  loss(logits: Tensor, labels: Tensor): Scalar;
  /** The number of rows whose largest logit is that of the label. */
  right(logits: Tensor, labels: Tensor): Tensor;
}
