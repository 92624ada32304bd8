import type { LayersModel, Rank, Scalar, Tensor, Variable } from '@tensorflow/tfjs';
import { randomIds, type BenchModel, type Tf } from './model.js';

export interface ClassifierOptions {
  /** Shape of one sample. */
  readonly inputShape: readonly number[];
  readonly classes: number;
  /**
   * The variables in the order of the PyTorch peer's parameters. Default: the order of the model.
   */
  readonly variables?: readonly Variable[];
}

/**
 * A bench model around a LayersModel that returns logits `[batch, classes]`. Inputs are uniform in
 * [0, 1), labels are one-hot, and the loss is softmax cross-entropy.
 */
export function classifier(tf: Tf, model: LayersModel, options: ClassifierOptions): BenchModel {
  const { inputShape, classes } = options;
  const inputSize = inputShape.reduce((product, length) => product * length, 1);
  return {
    trainable: model,
    variables: options.variables ?? model.trainableWeights.map((weight) => weight.read() as Variable),
    makeBatch: (batch, random) => ({
      xs: tf.tensor(Float32Array.from({ length: batch * inputSize }, random), [batch, ...inputShape]),
      ys: tf.tidy(() => tf.oneHot(randomIds(batch, classes, random), classes).toFloat()),
    }),
    loss: ({ xs, ys }, training): Scalar =>
      tf.tidy(() => {
        const logits = model.apply(xs, { training }) as Tensor;
        return tf.losses.softmaxCrossEntropy(ys, logits) as Tensor<Rank.R0>;
      }),
  };
}
