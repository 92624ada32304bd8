import * as tf from '@tensorflow/tfjs';
import { afterAll, expect, it } from 'vitest';
import type { KernelLayer } from '@acc/contract';
import { markFakeQuantized } from '@acc/kernels';
import { RoundedBuffers } from './rounded-buffers.js';

afterAll(() => tf.disposeVariables());

it('buffers are rounded, but not the ranges of fake quantization, which count passes', () => {
  const [mean, range] = [tf.variable(tf.tensor1d([257])), tf.variable(tf.tensor1d([257]))];
  markFakeQuantized(range);
  const layer = { _nonTrainableWeights: [mean, range].map((variable) => ({ read: () => variable })) };
  const buffers = new RoundedBuffers('bfloat16');
  // Rounds to bfloat16 what has one bit too many.
  const precision = { cast: (x: tf.Tensor) => tf.mul(tf.floor(tf.div(x, 2)), 2) };
  buffers.attach({ precision } as unknown as KernelLayer);
  buffers.add([layer]);
  expect([mean, range].map((variable) => variable.dataSync()[0])).toEqual([256, 257]);
});
