import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import type { CompileOptions } from '@acc/compile';
import { Accelerator } from '../accelerator.js';
import { relativeDifference } from './testing.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

// As many probabilities as are replaced on every CPU in bfloat16, too.
const [B, T, H, D] = [1, 1024, 4, 16];
const C = H * D;

/** Causal attention on `x_(BT)C` in plain operators. */
function attention(x: tf.Tensor2D, weight: tf.Tensor2D): tf.Tensor2D {
  const [q, k, v] = tf
    .split(tf.matMul(x, weight), 3, -1)
    .map((part) => part.reshape([B, T, H, D]).transpose<tf.Tensor4D>([0, 2, 1, 3])) as [
    tf.Tensor4D,
    tf.Tensor4D,
    tf.Tensor4D,
  ];
  const mask = tf.linalg
    .bandPart(tf.ones([T, T]), -1, 0)
    .sub(1)
    .mul(1e9);
  const scores = tf.matMul(q, k, false, true).mul(1 / Math.sqrt(D));
  return tf
    .matMul(tf.softmax(scores.add(mask)), v)
    .transpose([0, 2, 1, 3])
    .reshape([B * T, C]);
}

/** Trains attention for some steps. Returns losses and weights. */
async function train(mixedPrecision: 'no' | 'bf16', options: CompileOptions) {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1, mixedPrecision });
  const weight = tf.variable(tf.randomNormal<tf.Rank.R2>([C, 3 * C], 0, 0.2, 'float32', 3));
  const [, optimizer] = accelerator.prepare([weight as unknown as tf.Variable], tf.train.sgd(0.5));
  const step = accelerator.compile((x: tf.Tensor2D) => {
    const loss = () => attention(x, weight).sub(x).square().mean().asScalar();
    return optimizer.minimize(loss, true)!;
  }, options);
  const x = tf.randomNormal<tf.Rank.R2>([B * T, C], 0, 1, 'float32', 5);
  const losses = Array.from({ length: 8 }, () => step(x).dataSync()[0]!);
  expect(step.replays).toBe(5);
  return { losses, weights: weight.dataSync(), explanation: step.explain() };
}

it.each([
  ['no', 'float32', 1e-6],
  ['bf16', 'bfloat16', 1e-3],
] as const)(
  'a step in mixed precision %s trains through flash attention',
  async (precision, dtype, close) => {
    const fused = await train(precision, { fuse: true });
    const replaced = `flash attention of ${dtype}[${[B, H, T, D].join()}], causal, forward and backward`;
    expect(fused.explanation).toContain(`1 × ${replaced}`);
    expect(fused.explanation).not.toMatch(/bmm|softmax|bandPart|where/);
    accelerator.freeMemory();
    const plain = await train(precision, {});
    expect(relativeDifference(fused.losses, plain.losses)).toBeLessThan(close);
    expect(relativeDifference(fused.weights, plain.weights)).toBeLessThan(close);
  },
);
