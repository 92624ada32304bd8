import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { secondGradients, valueAndGradients, wave } from '../testing/function-gradients.js';
import { rotaryEmbedding, type RotaryOptions } from './rotary-embedding.js';

const CASES: readonly (readonly [string, RotaryOptions])[] = [
  ['halves', {}],
  ['neighbours', { interleaved: true }],
  ['another base and offset', { base: 500, offset: 11, interleaved: true }],
];

describe.each(CASES)('rotaryEmbedding of %s', (_, options) => {
  const f = (t: tf.Tensor) => rotaryEmbedding(t, options);

  it.each([[[7, 6]], [[2, 3, 5, 8]], [[1, 2]], [[2, 0, 4]]])(
    'of shape %j equals the result of tfjs operators',
    async (shape) => {
      await expectSameAsCpu(() => valueAndGradients(f, [wave(shape)]), { atol: 5e-6 });
    },
  );

  it('accepts transposed heads, and has second gradients', async () => {
    const turned = (t: tf.Tensor) => f(tf.transpose(t, [0, 2, 1, 3]));
    await expectSameAsCpu(() => valueAndGradients(turned, [wave([2, 5, 3, 4])]), { atol: 5e-6 });
    await expectSameAsCpu(() => secondGradients(turned, [wave([2, 5, 3, 4])]), { atol: 1e-5 });
  });
});

describe('rotaryEmbedding', () => {
  it('rotates a pair by position · base^(−2i/dim)', async () => {
    await tf.setBackend('acc');
    const turned = rotaryEmbedding(tf.tensor2d([[1, 0, 0, 2]]), { base: 100, offset: 3 });
    const [a, b] = [3, 3 / 10];
    const expected = [Math.cos(a), -2 * Math.sin(b), Math.sin(a), 2 * Math.cos(b)];
    expect([...turned.dataSync()]).toEqual(expected.map((value) => expect.closeTo(value, 6)));
  });

  it('is exact at far positions', async () => {
    await tf.setBackend('acc');
    const turned = rotaryEmbedding(tf.tensor2d([[1, 1, 0, 0]]), { offset: 1_000_001 });
    const slow = 1_000_001 / 100;
    const expected = [Math.cos(1_000_001), Math.cos(slow), Math.sin(1_000_001), Math.sin(slow)];
    expect([...turned.dataSync()]).toEqual(expected.map((value) => expect.closeTo(value, 6)));
  });

  it.each<[string, () => unknown, string]>([
    ['an odd dim', () => rotaryEmbedding(tf.ones([2, 3])), 'ACC_SHAPE_MISMATCH'],
    ['a vector', () => rotaryEmbedding(tf.ones([4])), 'ACC_SHAPE_MISMATCH'],
    [
      'an unknown option',
      () => rotaryEmbedding(tf.ones([2, 2]), { bass: 1 } as object),
      'ACC_UNKNOWN_OPTION',
    ],
  ])('refuses %s', (_, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }));
  });
});
