import type { Tensor, Tensor2D, Tensor4D } from '@tensorflow/tfjs';
import type { Tf } from './model.js';

// The functions of a GPT as people write them in tfjs, without Accelerate.

/** Normalises over the last dim, with PyTorch's default epsilon. */
export function layerNormInPlainOps(tf: Tf, x: Tensor2D, gain: Tensor, bias: Tensor): Tensor2D {
  const { mean, variance } = tf.moments(x, -1, true);
  return x.sub(mean).div(variance.add(1e-5).sqrt()).mul(gain).add(bias);
}

/** GELU in its tanh form (Hendrycks and Gimpel 2016). */
export function geluInPlainOps(x: Tensor2D): Tensor2D {
  const inner = x.add(x.pow(3).mul(0.044715)).mul(Math.sqrt(2 / Math.PI));
  return x.mul(0.5).mul(inner.tanh().add(1));
}

/** Causal attention on `[batch, heads, length, dim]`. */
export function attentionInPlainOps(tf: Tf, q: Tensor4D, k: Tensor4D, v: Tensor4D): Tensor4D {
  const [, , T, D] = q.shape;
  const isSeen = tf.linalg.bandPart(tf.ones([T, T]), -1, 0);
  const mask = isSeen.sub(1).mul(1e9);
  const scores = tf.matMul(q, k, false, true).mul(1 / Math.sqrt(D));
  return tf.matMul(tf.softmax(scores.add(mask)), v);
}
