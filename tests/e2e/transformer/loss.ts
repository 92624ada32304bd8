import * as tf from '@tensorflow/tfjs';

/** The mean cross-entropy of the next tokens. */
export function lossOf(model: tf.LayersModel, tokens: tf.Tensor2D): tf.Scalar {
  const [rows, length] = tokens.shape;
  const logits = tf.slice(model.apply(tokens) as tf.Tensor3D, [0, 0, 0], [rows, length - 1, -1]);
  const targets = tf.slice(tokens, [0, 1], [rows, length - 1]);
  return tf.losses.softmaxCrossEntropy(tf.oneHot(targets, logits.shape[2]), logits);
}
