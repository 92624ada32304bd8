import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { collate } from './collate.js';
import { expectNoTensorsLeft, plain } from './testing/collect.js';

function check(samples: unknown[], expected: unknown) {
  tf.tidy(() => {
    expect(plain(collate(samples))).toEqual(expected);
  });
}

describe('collate', () => {
  it('makes a vector of numbers, booleans or strings', () => {
    check([1, 2.5, 3], [1, 2.5, 3]);
    check([true, false], [1, 0]);
    check(['a', 'b'], ['a', 'b']);
    tf.tidy(() => {
      const dtypes = [[1], [true], ['a']].map((samples) => (collate(samples) as tf.Tensor).dtype);
      expect(dtypes).toEqual(['float32', 'bool', 'string']);
    });
  });

  it('stacks arrays, typed arrays and tensors', () => {
    check(
      [
        [1, 2],
        [3, 4],
      ],
      [
        [1, 2],
        [3, 4],
      ],
    );
    check([[[1], [2]]], [[[1], [2]]]);
    check(
      [Uint8Array.of(1, 2), Uint8Array.of(3, 4)],
      [
        [1, 2],
        [3, 4],
      ],
    );
    check(
      [Float32Array.of(1, 2), [3, 4]],
      [
        [1, 2],
        [3, 4],
      ],
    );
    tf.tidy(() => {
      const batch = collate([tf.ones([2, 3], 'int32'), tf.zeros([2, 3], 'int32')]) as tf.Tensor;
      expect(batch.shape).toEqual([2, 2, 3]);
      expect(batch.dtype).toBe('int32');
    });
    const scalars = [tf.scalar(1), tf.scalar(2)];
    check(scalars, [1, 2]);
    tf.dispose(scalars);
  });

  it('batches records by key and tuples by index', () => {
    check(
      [
        { x: [1, 2], y: 0, name: 'a' },
        { name: 'b', x: [3, 4], y: 1 },
      ],
      {
        x: [
          [1, 2],
          [3, 4],
        ],
        y: [0, 1],
        name: ['a', 'b'],
      },
    );
    check(
      [
        [[1, 2], 0],
        [[3, 4], 1],
      ],
      [
        [
          [1, 2],
          [3, 4],
        ],
        [0, 1],
      ],
    );
    check([{ in: { a: 1, b: true } }], { in: { a: [1], b: [1] } });
    check([[Float32Array.of(1, 2), Float32Array.of(3, 4)]], [[[1, 2]], [[3, 4]]]);
  });

  it.each([
    [[1, 'a'], 'sample'],
    [[[1, 2], [3]], 'sample'],
    [[{ x: 1 }, { x: [1] }], 'sample.x'],
    [[{ x: 1 }, { y: 1 }], 'sample'],
    [[{ x: 1 }, { x: 1, y: 1 }], 'sample'],
    [[{ x: 1 }, 2], 'sample'],
    [[{ x: [[1], 'a'] }, { x: [[1, 2], 'a'] }], 'sample.x[0]'],
    [
      [
        ['a', 1],
        ['a', 1, 2],
      ],
      'sample',
    ],
    [[null], 'sample'],
    [[{ when: new Date(0) }], 'sample.when'],
    [[5n], 'sample'],
    [[() => 1], 'sample'],
  ])('refuses %o and names the place', async (samples, path) => {
    await expectNoTensorsLeft(() => {
      expect(() => tf.tidy(() => collate(samples) as tf.TensorContainer)).toThrow(
        expect.objectContaining({ code: 'ACC_DATA_COLLATE', details: expect.objectContaining({ path }) }),
      );
    });
  });

  it('refuses tensors of different shapes or dtypes', () => {
    tf.tidy(() => {
      const code = expect.objectContaining({ code: 'ACC_DATA_COLLATE' });
      expect(() => collate([tf.ones([2]), tf.ones([3])])).toThrow(code);
      expect(() => collate([tf.ones([2]), tf.ones([2], 'int32')])).toThrow(code);
      expect(() => collate([tf.ones([2]), 1])).toThrow(code);
    });
  });
});
