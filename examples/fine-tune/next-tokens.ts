import * as tf from '@tensorflow/tfjs';

/**
 * The mean cross-entropy of the next tokens, in nats.
 *
 * @param tokens [rows, length], int32.
 * @param training Whether the model drops what it drops in training.
 */
export function lossOf(model: tf.LayersModel, tokens: tf.Tensor, training: boolean): tf.Scalar {
  const [rows, length] = tokens.shape as [number, number];
  const logits = model.apply(tokens, { training }) as tf.Tensor3D;
  const seen = tf.slice(logits, [0, 0, 0], [rows, length - 1, -1]);
  const targets = tf.slice(tokens, [0, 1], [rows, length - 1]);
  return tf.losses.softmaxCrossEntropy(tf.oneHot(targets, logits.shape[2]), seen);
}
