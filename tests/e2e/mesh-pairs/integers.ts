// A model whose weights, activations and gradients are small integers, so that 16 bits hold them exactly.
import { seededRandom } from '@acc/testkit';
import { tokenEmbedding } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';

/** A mean over the 32 tokens of a micro-batch and the two of a window, times this, is an integer. */
const SCALE = 64;
const MARGIN = 32;

/** Gradients are integers, so clipping makes them -1, 0 or 1. */
export const SIGNS = { gradientClipping: { value: 1 }, gradientAccumulationSteps: 2 } as const;

/** Layers for a pipeline of two stages, the first of which may be cut by columns and then by rows. */
export function withIntegers(vocabularySize: number): tf.LayersModel {
  const input = tf.input({ shape: [null] });
  let x = tokenEmbedding({ name: 'wte', vocabularySize, units: 4 }).apply(input);
  x = tf.layers.dense({ name: 'in', units: 4, activation: 'relu', useBias: false }).apply(x);
  x = tf.layers.dense({ name: 'mid', units: 4 }).apply(x);
  const logits = tf.layers.dense({ name: 'logits', units: vocabularySize, useBias: false }).apply(x);
  const model = tf.model({ inputs: input, outputs: logits as tf.SymbolicTensor });
  const random = seededRandom(1);
  for (const weight of model.weights) {
    const { shape, size } = weight.read();
    const values = Array.from({ length: size }, () => Math.floor(3 * random()) - 1);
    tf.tidy(() => void weight.write(tf.tensor(values, shape)));
  }
  return model;
}

/** Zero for a token whose logit is larger than that of the next one by a margin. */
export function hinge(logits: tf.Tensor, y: tf.Tensor2D): tf.Scalar {
  const vocabulary = logits.shape.at(-1)!;
  const others = tf.mod(tf.add(y, 1), vocabulary);
  const signs = tf.sub(tf.oneHot(y, vocabulary), tf.oneHot(tf.cast(others, 'int32'), vocabulary));
  const ahead = tf.sum(tf.mul(tf.cast(logits, 'float32'), signs), -1);
  return tf.mul(tf.mean(tf.relu(tf.sub(MARGIN, ahead))), SCALE);
}
