// Data that ranks and a single program compute alike.
import type * as Tf from '@tensorflow/tfjs';

export const ROWS_PER_RANK = 6;

export interface Rows {
  readonly x: Tf.Tensor2D;
  readonly y: Tf.Tensor2D;
}

export function rowsOfRank(tf: typeof Tf, rank: number): Rows {
  return {
    x: tf.randomNormal([ROWS_PER_RANK, 4], 0, 1, 'float32', 10 + rank),
    y: tf.randomNormal([ROWS_PER_RANK, 2], 0, 1, 'float32', 20 + rank),
  };
}

export function lossOf(tf: typeof Tf, weights: Tf.Tensor, { x, y }: Rows): Tf.Scalar {
  return tf.losses.meanSquaredError(y, tf.matMul(x, weights as Tf.Tensor2D));
}
