import * as fc from 'fast-check';
import * as tf from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { ints, make, tensorOf } from '../testing/values.js';

const both = ({ values, indices }: ReturnType<typeof tf.unique>): tf.Tensor[] => [values, indices];

describe('unique', () => {
  it.each([0, 1, 2])('of integers along axis %i is as on cpu', async (axis) => {
    const dims = fc.tuple(...[1, 2, 3].map((max) => fc.integer({ min: 1, max: 2 * max })));
    await fc.assert(
      fc.asyncProperty(
        dims.chain((shape) => tensorOf('int32', shape, ints(1))),
        (x) => expectSameAsCpu(() => both(tf.unique(make(x), axis))),
      ),
      { numRuns: 40 },
    );
  });

  it('of a list of integers is as on cpu', async () => {
    const lists = fc.array(ints(5), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(lists, (values) =>
        expectSameAsCpu(() => both(tf.unique(tf.tensor1d(values, 'int32')))),
      ),
    );
  });

  it.each([
    ['floats', () => tf.tensor1d([NaN, 1, NaN, 0, -0])],
    ['strings', () => tf.tensor1d(['a', 'b', 'a'])],
    ['booleans', () => tf.tensor1d([true, false, true])],
    ['nothing', () => tf.tensor1d([], 'int32')],
  ])('of %s is as on cpu', (_, x) => expectSameAsCpu(() => both(tf.unique(x() as tf.Tensor1D))));
});
