import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { liveTensors } from '@acc/native';
import { expectClose } from '@acc/testkit';
import type { AccBackend } from '../backend.js';
import { scaledDotProductAttention } from '../functions/index.js';
import { registerAccBackend } from '../register-backend.js';
import { wave } from '../testing/function-gradients.js';
import { cast } from './cast.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const dtypeOf = (x: tf.Tensor): string => (tf.backend() as AccBackend).native(x).dtype;
const short = (x: tf.Tensor) => cast(x, 'bfloat16', 'float32');
/** `x` rounded to bfloat16, in float32. */
const rounded = (x: tf.Tensor) => cast(short(x), 'float32', 'bfloat16');

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tensors of the ranks that each operator wants
type Op = (...xs: any[]) => tf.Tensor;

const image = [2, 5, 5, 3];
const OPS: Readonly<Record<string, readonly [op: Op, ...shapes: number[][]]>> = {
  matMul: [(a: tf.Tensor, b: tf.Tensor) => tf.matMul(a, b), [5, 7], [7, 3]],
  'matMul of stacks': [(a: tf.Tensor, b: tf.Tensor) => tf.matMul(a, b), [2, 2, 5, 7], [2, 2, 7, 3]],
  'fused.matMul': [
    (a: tf.Tensor, b: tf.Tensor, bias: tf.Tensor) => tf.fused.matMul({ a, b, bias }),
    [5, 7],
    [7, 3],
    [3],
  ],
  'fused.matMul with relu': [
    (a: tf.Tensor, b: tf.Tensor, bias: tf.Tensor) => tf.fused.matMul({ a, b, bias, activation: 'relu' }),
    [5, 7],
    [7, 3],
    [3],
  ],
  conv2d: [(x: tf.Tensor4D, w: tf.Tensor4D) => tf.conv2d(x, w, 1, 'same'), image, [3, 3, 3, 4]],
  'fused.conv2d': [
    (x: tf.Tensor4D, filter: tf.Tensor4D, bias: tf.Tensor) =>
      tf.fused.conv2d({ x, filter, strides: 1, pad: 'same', bias }),
    image,
    [3, 3, 3, 4],
    [4],
  ],
  conv2dTranspose: [
    (x: tf.Tensor4D, w: tf.Tensor4D) => tf.conv2dTranspose(x, w, [2, 7, 7, 4], 1, 'valid'),
    image,
    [3, 3, 4, 3],
  ],
  depthwiseConv2d: [
    (x: tf.Tensor4D, w: tf.Tensor4D) => tf.depthwiseConv2d(x, w, 1, 'valid'),
    image,
    [3, 3, 3, 2],
  ],
  conv3d: [(x: tf.Tensor5D, w: tf.Tensor5D) => tf.conv3d(x, w, 1, 'same'), [1, 4, 4, 4, 2], [2, 2, 2, 2, 3]],
  prelu: [(x: tf.Tensor, alpha: tf.Tensor) => tf.prelu(x, alpha), [4, 5], [5]],
  add: [(a: tf.Tensor, b: tf.Tensor) => tf.add(a, b), [3, 4], [4]],
  mul: [(a: tf.Tensor, b: tf.Tensor) => tf.mul(a, b), [3, 4], [4]],
  where: [
    (a: tf.Tensor, b: tf.Tensor) => tf.where(tf.range(0, 12).reshape([3, 4]).mod(2).equal(0), a, b),
    [3, 4],
    [3, 4],
  ],
  concat: [(a: tf.Tensor, b: tf.Tensor) => tf.concat([a, b]), [3, 4], [3, 4]],
  softmaxCrossEntropy: [
    (x: tf.Tensor, y: tf.Tensor) => tf.losses.softmaxCrossEntropy(tf.softmax(y), x),
    [4, 5],
    [4, 5],
  ],
};

const LENIENT = { rtol: 0.02, atol: 0.02 };

/** The result of these has the dtype of one input, or the op computes in a fixed dtype. */
const IN_ANY = ['softmaxCrossEntropy'];

describe.each(Object.entries(OPS))('%s', (name, [op, ...shapes]) => {
  // A bit mask of the inputs that are 16-bit.
  const mixes = Array.from({ length: 2 ** shapes.length - 2 }, (_, i) => i + 1);

  it.each(mixes)('accepts float32 and bfloat16 together, as libtorch promotes them (%i)', (mix) => {
    tf.tidy(() => {
      const xs = shapes.map((shape, seed) => wave(shape, seed));
      const isShort = (i: number) => ((mix >> i) & 1) === 1;
      const of = (inputs: tf.Tensor[]) => {
        const value = op(...inputs);
        const grads = tf.grads((...ts: tf.Tensor[]) =>
          op(...ts)
            .mul(wave(value.shape, 7))
            .sum(),
        )(inputs);
        return [value, ...grads];
      };
      const mixed = of(xs.map((x, i) => (isShort(i) ? short(x) : x)));
      const expected = of(xs.map((x, i) => (isShort(i) ? rounded(x) : x)));
      if (!IN_ANY.includes(name)) expect(dtypeOf(mixed[0]!)).toBe('float32');
      mixed.forEach((t, i) => expectClose(t.dataSync(), expected[i]!.dataSync(), LENIENT));
    });
  });
});

it('leaves no tensor behind', () => {
  const step = () =>
    tf.tidy(
      () => tf.grads((a, b) => tf.matMul(a!, b!).sum())([short(wave([5, 7], 0)), wave([7, 3], 1)]).length,
    );
  step();
  const before = liveTensors();
  step();
  expect(liveTensors()).toBe(before);
});

it('einsum and attention accept both', () => {
  tf.tidy(() => {
    const [a, b] = [wave([5, 7], 0), wave([7, 3], 1)];
    expectClose(tf.einsum('ij,jk->ik', short(a), b).dataSync(), tf.matMul(rounded(a), b).dataSync(), LENIENT);
    const [q, k, v] = [0, 1, 2].map((seed) => wave([1, 2, 5, 8], seed) as tf.Tensor4D);
    const expected = scaledDotProductAttention(q!, k!, v!).dataSync();
    expectClose(scaledDotProductAttention(q!, short(k!) as tf.Tensor4D, v!).dataSync(), expected, LENIENT);
  });
});

describe('pooling', () => {
  const POOLS: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
    maxPool: (x) => tf.maxPool(x.reshape([1, 6, 6, 1]) as tf.Tensor4D, 2, 2, 'same'),
    avgPool: (x) => tf.avgPool(x.reshape([1, 6, 6, 1]) as tf.Tensor4D, 2, 2, 'same'),
    maxPool3d: (x) => tf.maxPool3d(x.reshape([1, 3, 4, 3, 1]) as tf.Tensor5D, 2, 2, 'same'),
    avgPool3d: (x) => tf.avgPool3d(x.reshape([1, 3, 4, 3, 1]) as tf.Tensor5D, 2, 2, 'same'),
  };
  it.each(Object.entries(POOLS))('has gradients whether x or dy is in 16 bits: %s', (_, pool) => {
    tf.tidy(() => {
      const x = wave([36], 0);
      const dy = wave(pool(x).shape, 1);
      const expected = tf.grad(pool)(rounded(x), dy).dataSync();
      for (const [given, towards] of [
        [short(x), dy],
        [rounded(x), short(dy)],
        [short(x), short(dy)],
      ] as const) {
        expectClose(tf.grad(pool)(given, towards).dataSync(), expected, LENIENT);
      }
    });
  });
});
