import type { Rank, Scalar, Sequential, Tensor, Variable } from '@tensorflow/tfjs';
import { randomIds, type BenchModel, type Tf } from './model.js';

/**
 * A bench model around a LayersModel that gives logits `[batch, classes]`: inputs uniform in [0, 1), labels one-hot,
 * loss softmax cross-entropy.
 *
 * @param inputShape Shape of one sample.
 */
export function classifier(
  tf: Tf,
  model: Sequential,
  inputShape: readonly number[],
  classes: number,
): BenchModel {
  const inputSize = inputShape.reduce((product, length) => product * length, 1);
  return {
    trainable: model,
    variables: model.trainableWeights.map((weight) => weight.read() as Variable),
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
