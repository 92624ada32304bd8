import * as fc from 'fast-check';
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { expectSameAsCpu } from '../testing/compare.js';
import { elements, finiteFloats, ints, make, tensorOf, type RealDtype } from '../testing/values.js';

const SEGMENTS = 4;

describe('UnsortedSegmentSum', () => {
  it.each<RealDtype>(['float32', 'int32', 'bool'])(
    'of %s is as on cpu, without ids out of range',
    async (dtype) => {
      const values = dtype === 'float32' ? finiteFloats() : elements(dtype);
      for (const shape of [[6], [6, 1], [6, 3], [6, 2, 2], [0, 2]]) {
        await fc.assert(
          fc.asyncProperty(
            tensorOf(dtype, shape, values),
            tensorOf('int32', [shape[0]!], ints(SEGMENTS + 2)),
            (x, ids) =>
              expectSameAsCpu(() => tf.unsortedSegmentSum(make(x), make(ids) as tf.Tensor1D, SEGMENTS)),
          ),
          { numRuns: 10 },
        );
      }
    },
  );

  it('is the gradient of an embedding, with repeated tokens', () =>
    expectSameAsCpu(() => {
      const table = tf.tensor2d([1, 2, 3, 4, 5, 6, 7, 8], [4, 2]);
      const tokens = tf.tensor2d([3, 1, 3, 0, 3, 1], [2, 3], 'int32');
      return tf.grad((x) => tf.square(tf.gather(x, tokens)))(table);
    }));

  it('is the gradient of a gather along any axis', () =>
    expectSameAsCpu(() => {
      const x = tf.tensor3d([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [2, 3, 2]);
      const indices = tf.tensor1d([2, 0, 2], 'int32');
      return [
        tf.grad((y) => tf.square(tf.gather(y, indices, 1)))(x),
        tf.grad((y) => tf.square(tf.gather(y, [1, 0, 1], 2)))(x),
      ];
    }));

  it('refuses two-dimensional ids', async () => {
    await tf.setBackend('acc');
    tf.tidy(() => {
      const [x, ids] = [tf.ones([2, 2]), tf.zeros([2, 2], 'int32')];
      expect(() => tf.unsortedSegmentSum(x, ids as never, 2)).toThrowError(
        expect.toSatisfy((error) => isAccError(error, 'ACC_SHAPE_MISMATCH')),
      );
    });
  });
});
