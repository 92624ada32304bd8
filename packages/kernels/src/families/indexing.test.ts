import * as fc from 'fast-check';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, ints, make, tensorOf, type RealDtype, type TensorSpec } from '../testing/values.js';

const RUNS = { numRuns: 40 };
const dtypes = fc.constantFrom<RealDtype>('float32', 'int32', 'bool');
const dims = (count: { minLength: number; maxLength: number }): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({ min: 1, max: 4 }), count);
const indicesBelow = (limit: number, shape: number[]): fc.Arbitrary<TensorSpec> =>
  tensorOf('int32', shape, fc.integer({ min: 0, max: limit - 1 }));

const outOfRange = expect.toSatisfy((error) => isAccError(error, 'ACC_INDEX_OUT_OF_RANGE'));

describe('gather', () => {
  it('is as on cpu, along any axis', () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .tuple(dtypes, dims({ minLength: 1, maxLength: 3 }))
          .chain(([dtype, shape]) =>
            fc
              .tuple(
                fc.integer({ min: -shape.length, max: shape.length - 1 }),
                dims({ minLength: 0, maxLength: 2 }),
              )
              .chain(([axis, indexShape]) =>
                fc.tuple(
                  tensorOf(dtype, shape),
                  indicesBelow(shape.at(axis)!, indexShape),
                  fc.constant(axis),
                ),
              ),
          ),
        ([x, indices, axis]) => expectSameAsCpu(() => tf.gather(make(x), make(indices), axis)),
      ),
      RUNS,
    ));

  it('is as on cpu, in batches', () =>
    fc.assert(
      fc.asyncProperty(
        fc
          .tuple(dtypes, dims({ minLength: 3, maxLength: 3 }), fc.integer({ min: 1, max: 3 }))
          .chain(([dtype, shape, count]) =>
            fc
              .constantFrom(1, 2)
              .chain((axis) =>
                fc.tuple(
                  tensorOf(dtype, shape),
                  indicesBelow(shape[axis]!, [shape[0]!, count]),
                  fc.constant(axis),
                ),
              ),
          ),
        ([x, indices, axis]) => expectSameAsCpu(() => tf.gather(make(x), make(indices), axis, 1)),
      ),
      RUNS,
    ));

  it('names an index that is out of range', async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    tf.tidy(() => {
      expect(() => tf.gather(tf.ones([3, 2]), [0, 3])).toThrowError(outOfRange);
      expect(() => tf.gather(tf.ones([3, 2]), [0, -1], 1)).toThrowError(outOfRange);
      expect(() => tf.gatherND(tf.ones([3, 2]), [[3, 1]])).toThrowError(outOfRange);
      expect(() => tf.scatterND([[4]], [1], [4])).toThrowError(outOfRange);
    });
  });
});

describe('gatherND, scatterND, tensorScatterUpdate, sparseToDense', () => {
  const shape = [3, 2, 4];
  /** Distinct index tuples into `shape`, of any length from 1. */
  const tuples = fc.integer({ min: 1, max: 3 }).chain((length) =>
    fc.uniqueArray(fc.tuple(...shape.slice(0, length).map((size) => fc.nat(size - 1))), {
      minLength: 1,
      maxLength: 3,
      selector: (tuple) => tuple.join(),
    }),
  ) as fc.Arbitrary<number[][]>;
  const withUpdates = fc.tuple(dtypes, tuples).chain(([dtype, places]) => {
    const updateShape = [places.length, ...shape.slice(places[0]!.length)];
    return fc.tuple(fc.constant(places), tensorOf(dtype, updateShape), tensorOf(dtype, shape));
  });
  const indices = (places: number[][]): tf.Tensor2D =>
    tf.tensor2d(places, [places.length, places[0]!.length], 'int32');

  it('are as on cpu', () =>
    fc.assert(
      fc.asyncProperty(withUpdates, ([places, updates, base]) =>
        expectSameAsCpu(() => [
          tf.gatherND(make(base), indices(places)),
          tf.scatterND(indices(places), make(updates), shape),
          tf.tensorScatterUpdate(make(base), indices(places), make(updates)),
        ]),
      ),
      RUNS,
    ));

  it('add values that are scattered to one place, and keep the last of those that are written there', () =>
    expectSameAsCpu(() => {
      const places = tf.tensor2d([[1], [0], [1]], [3, 1], 'int32');
      const updates = tf.tensor2d([
        [1, 2],
        [3, 4],
        [5, 6],
      ]);
      return [
        tf.scatterND(places, updates, [3, 2]),
        tf.tensorScatterUpdate(tf.ones([3, 2]), places, updates),
        tf.sparseToDense(tf.tensor1d([0, 3, 0], 'int32'), tf.tensor1d([7, 8, 9]), [5], -1),
        tf.sparseToDense(
          tf.tensor2d(
            [
              [0, 1],
              [2, 0],
            ],
            [2, 2],
            'int32',
          ),
          5,
          [3, 2],
          0,
        ),
      ];
    }));

  it('do not change the input of tensorScatterUpdate', async () => {
    await tf.setBackend('acc');
    tf.tidy(() => {
      const x = tf.tensor1d([1, 2, 3]);
      tf.tensorScatterUpdate(x, [[1]], [9]);
      expect(Array.from(x.dataSync())).toEqual([1, 2, 3]);
    });
  });
});

describe('oneHot, topk, searchSorted', () => {
  beforeAll(() => registerAccBackend());

  it('oneHot is as on cpu, also for indices out of range', () =>
    fc.assert(
      fc.asyncProperty(
        dims({ minLength: 0, maxLength: 2 }).chain((shape) => tensorOf('int32', shape, ints(5))),
        (spec) =>
          expectSameAsCpu(() => [
            tf.oneHot(make(spec), 4),
            tf.oneHot(make(spec), 4, 2.5, -1, 'float32'),
            tf.oneHot(make(spec), 3, 1, 0, 'bool'),
            tf.oneHot(make(spec), 3, 1, 0, 'float32'),
          ]),
      ),
      RUNS,
    ));

  it('topk is as on cpu, with ties', () =>
    fc.assert(
      fc.asyncProperty(
        dims({ minLength: 1, maxLength: 3 }).chain((shape) =>
          fc.tuple(
            fc.oneof(tensorOf('int32', shape, ints(2)), tensorOf('float32', shape, finiteFloats(3))),
            fc.integer({ min: 0, max: shape.at(-1)! }),
          ),
        ),
        ([spec, k]) =>
          expectSameAsCpu(() => {
            const { values, indices } = tf.topk(make(spec), k);
            return [values, indices];
          }),
      ),
      RUNS,
    ));

  it('searchSorted is as on cpu', () =>
    expectSameAsCpu(() => {
      const sorted = tf.tensor2d([
        [1, 3, 3, 5],
        [0, 0, 2, 9],
      ]);
      const wanted = tf.transpose(
        tf.tensor2d([
          [3, 0],
          [9, 1],
          [-1, 10],
        ]),
      );
      return [
        tf.searchSorted(sorted, wanted, 'left'),
        tf.searchSorted(sorted, wanted, 'right'),
        tf.searchSorted(sorted, tf.cast(wanted, 'int32'), 'left'),
        tf.lowerBound(sorted, wanted),
        tf.upperBound(sorted, wanted),
      ];
    }));
});
