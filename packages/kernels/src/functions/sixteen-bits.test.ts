import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { operator } from '@acc/native';
import { expectClose } from '@acc/testkit';
import type { AccBackend } from '../backend.js';
import { registerAccBackend } from '../register-backend.js';
import { valueAndGradients, wave } from '../testing/function-gradients.js';
import { dropout } from './dropout.js';
import { gelu } from './gelu.js';
import { layerNorm } from './layer-norm.js';
import { rmsNorm } from './rms-norm.js';
import { rotaryEmbedding } from './rotary-embedding.js';
import { scaledDotProductAttention } from './scaled-dot-product-attention.js';

const castTo = operator('aten::_to_copy');
const acc = (): AccBackend => tf.backend() as AccBackend;
const nativeDtype = (x: tf.Tensor): string => acc().native(x).dtype;

function rounded(x: tf.Tensor, dtype: 'bfloat16' | 'float32'): tf.Tensor {
  return acc().tensorOf(castTo(acc().native(x), dtype), 'float32');
}

/**
 * Casts to bfloat16 in a tensor that tfjs sees as float32, as mixed precision does. Its gradient
 * casts back to float32.
 */
const short = tf.customGrad((x) => ({
  value: rounded(x as tf.Tensor, 'bfloat16'),
  gradFunc: (dy: tf.Tensor) => rounded(dy, 'float32'),
}));

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const heads = (seed: number): tf.Tensor4D => wave([2, 3, 5, 8], seed) as tf.Tensor4D;
const attend = (...xs: tf.Tensor[]): tf.Tensor =>
  scaledDotProductAttention(...(xs as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]), { isCausal: true });

const CASES: Record<string, [f: (...xs: tf.Tensor[]) => tf.Tensor, count: number]> = {
  gelu: [(x) => gelu(x), 1],
  layerNorm: [(x) => layerNorm(x, wave([8], 3), wave([8], 4)), 1],
  rmsNorm: [(x) => rmsNorm(x, wave([8], 3)), 1],
  'rotary embedding': [(x) => rotaryEmbedding(x), 1],
  attention: [attend, 3],
  'attention with a mask': [
    (q, k, v) =>
      scaledDotProductAttention(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D, { mask: wave([5, 5]) }),
    3,
  ],
};

describe('bfloat16 tensors with the tfjs dtype float32', () => {
  it.each(Object.entries(CASES))(
    'stay bfloat16, and give the values and gradients of float32: %s',
    (_, [f, count]) => {
      tf.tidy(() => {
        const inputs = Array.from({ length: count }, (_, seed) => heads(seed));
        const expected = valueAndGradients(f, inputs);
        const actual = valueAndGradients((...xs) => f(...xs.map((x) => short(x))), inputs);
        expect(nativeDtype(actual[0]!)).toBe('bfloat16');
        actual.forEach((x, i) =>
          expectClose(x.dataSync(), expected[i]!.dataSync(), { rtol: 0.05, atol: 0.05 }),
        );
      });
    },
  );

  // Covers lengths above one block of scores, and head dims that the matrix units support or do
  // not.
  it.each([
    ['causal', 70, 70, 64, true],
    ['of fewer keys', 130, 65, 80, false],
    ['of more keys', 33, 200, 32, false],
    ['of wide heads, causal', 150, 150, 128, true],
    ['of odd heads', 20, 30, 24, true],
  ] as const)('give the gradients of attention in float32: %s', (_, queries, keys, width, isCausal) => {
    tf.tidy(() => {
      const shapes = [queries, keys, keys].map((length) => [2, length, 3, width]);
      // The heads dim lies between the rows in memory, as after a split of one matrix product.
      const inputs = shapes.map((shape, seed) => wave(shape, seed).transpose([0, 2, 1, 3]));
      const attention = (...xs: tf.Tensor[]) =>
        scaledDotProductAttention(...(xs as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]), { isCausal });
      const expected = valueAndGradients(
        attention,
        inputs.map((x) => rounded(rounded(x, 'bfloat16'), 'float32')),
      );
      const actual = valueAndGradients((...xs) => attention(...xs.map((x) => short(x))), inputs);
      actual.forEach((x, i) => {
        const largest = Math.max(...expected[i]!.dataSync().map(Math.abs));
        expectClose(x.dataSync(), expected[i]!.dataSync(), { rtol: 0, atol: 0.03 * largest });
      });
    });
  });

  it('can be the query while the other inputs are float32', () => {
    tf.tidy(() => {
      const [q, k, v] = [0, 1, 2].map(heads) as [tf.Tensor, tf.Tensor, tf.Tensor];
      const expected = attend(q, k, v).dataSync();
      expectClose(attend(short(q), k, v).dataSync(), expected, { rtol: 0.05, atol: 0.05 });
    });
  });

  it('are counted with sums beyond the range of 16 bits', () => {
    tf.tidy(() => {
      const ones = short(tf.ones([1000, 2]));
      expect([...tf.unsortedSegmentSum(ones, tf.zeros([1000], 'int32'), 1).dataSync()]).toEqual([1000, 1000]);
      const tokens = tf.zeros([1000], 'int32');
      const grad = tf.grad((table) => tf.gather(short(table), tokens))(tf.ones([3, 2]));
      expect([...grad.dataSync()]).toEqual([1000, 1000, 0, 0, 0, 0]);
      const scattered = tf.scatterND(tf.zeros([1000, 1], 'int32'), short(tf.ones([1000])), [1]);
      expect(scattered.dataSync()[0]).toBe(1000);
      const one = short(tf.ones([1]));
      expect(tf.addN(Array.from({ length: 1000 }, () => one)).dataSync()[0]).toBe(1000);
    });
  });

  it('work with dropout', () => {
    tf.tidy(() => {
      const dropped = dropout(short(tf.ones([64])), 0.4);
      expect(nativeDtype(dropped)).toBe('bfloat16');
      expect(new Set(dropped.dataSync())).toEqual(new Set([0, expect.closeTo(1 / 0.6, 2)]));
    });
  });

  it('have statistics in float32', () => {
    tf.tidy(() => {
      // bfloat16 represents these values exactly, but neither their sum nor their mean.
      const x = tf.range(0, 1024).mod(2).add(128).reshape([1, 1024]);
      const plain = layerNorm(x).dataSync();
      expectClose(layerNorm(short(x)).dataSync(), plain, { rtol: 0.01, atol: 0 });
      const gradients = (f: (t: tf.Tensor) => tf.Tensor) => tf.grad((t) => layerNorm(f(t)).mul(x).sum())(x);
      expectClose(gradients(short).dataSync(), gradients((t) => t).dataSync(), { rtol: 0.05, atol: 0.01 });
    });
  });
});
