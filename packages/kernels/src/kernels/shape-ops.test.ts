import * as fc from 'fast-check';
import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { make, tensorOf, type RealDtype, type TensorSpec } from '../testing/values.js';

const RUNS = { numRuns: 40 };
const DTYPES = fc.constantFrom<RealDtype>('float32', 'int32', 'bool');

/** Tensors of rank 1 to 4 whose dims are at least `least`. */
const tensors = (least = 0): fc.Arbitrary<TensorSpec> =>
  fc
    .tuple(DTYPES, fc.array(fc.integer({ min: least, max: 4 }), { minLength: 1, maxLength: 4 }))
    .chain(([dtype, shape]) => tensorOf(dtype, shape));

/** Pairs a tensor with attributes that `attrs` derives from its shape. */
function withAttrs<T>(
  specs: fc.Arbitrary<TensorSpec>,
  attrs: (shape: readonly number[]) => fc.Arbitrary<T>,
): fc.Arbitrary<[TensorSpec, T]> {
  return specs.chain((spec) => fc.tuple(fc.constant(spec), attrs(spec.shape)));
}

const axisOf = (shape: readonly number[]): fc.Arbitrary<number> =>
  fc.integer({ min: -shape.length, max: shape.length - 1 });

const perDim = <T>(
  shape: readonly number[],
  one: (size: number, dim: number) => fc.Arbitrary<T>,
): fc.Arbitrary<T[]> => fc.tuple(...shape.map(one)) as fc.Arbitrary<T[]>;

async function expectProperty<T>(
  cases: fc.Arbitrary<[TensorSpec, T]>,
  compute: (x: tf.Tensor, attrs: T) => tf.Tensor | tf.Tensor[],
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(cases, ([spec, attrs]) => expectSameAsCpu(() => compute(make(spec), attrs))),
    RUNS,
  );
}

/** Twice `x`, transposed: its elements are not stored in the order of its shape. */
const transposed = (x: tf.Tensor): tf.Tensor => tf.transpose(tf.mul(tf.cast(x, 'float32'), 2));

describe('ops on shapes are as on cpu', () => {
  it('reshape and expandDims, also of strided tensors', () =>
    expectProperty(withAttrs(tensors(), axisOf), (x, axis) => [
      tf.reshape(x, [x.size]),
      tf.reshape(transposed(x), [x.size]),
      tf.expandDims(x, axis),
      tf.expandDims(transposed(x), axis),
    ]));

  it('transpose', () =>
    expectProperty(
      withAttrs(tensors(), ({ length }) => {
        const dims = Array.from({ length }, (_, dim) => dim);
        return fc.shuffledSubarray(dims, { minLength: length, maxLength: length });
      }),
      (x, perm) => tf.transpose(x, perm),
    ));

  it('concat and stack', () =>
    expectProperty(withAttrs(tensors(), axisOf), (x, axis) => {
      const twice = tf.tile(x, new Array<number>(x.rank).fill(2));
      const half = tf.slice(twice, new Array<number>(x.rank).fill(0), x.shape);
      return [tf.concat([x, half, x], axis), tf.stack([x, half], axis), tf.stack([x], axis)];
    }));

  it('unstack and split', () =>
    expectProperty(
      withAttrs(tensors(1), (shape) =>
        axisOf(shape).chain((axis) => {
          const size = shape.at(axis)!;
          return fc.tuple(fc.constant(axis), fc.integer({ min: 0, max: size }));
        }),
      ),
      (x, [axis, first]) => [
        ...tf.unstack(x, axis),
        ...tf.split(x, x.shape.at(axis)!, axis),
        ...tf.split(x, [first, x.shape.at(axis)! - first], axis),
      ],
    ));

  it('slice', () =>
    expectProperty(
      withAttrs(tensors(), (shape) =>
        perDim(shape, (size) =>
          fc
            .integer({ min: 0, max: size })
            .chain((begin) => fc.tuple(fc.constant(begin), fc.integer({ min: 0, max: size - begin }))),
        ),
      ),
      (x, box) =>
        tf.slice(
          x,
          box.map(([begin]) => begin),
          box.map(([, size]) => size),
        ),
    ));

  it('stridedSlice', () =>
    expectProperty(
      withAttrs(tensors(1), (shape) =>
        perDim(shape, (size) =>
          fc.constantFrom(1, 2, 3, -1, -2).chain((stride) =>
            fc.integer({ min: 0, max: size - 1 }).chain((begin) => {
              // A backward slice that includes the first element has an end before it, counted from
              // the end.
              const end =
                stride > 0
                  ? fc.integer({ min: begin + 1, max: size + 1 })
                  : fc.integer({ min: 0, max: begin }).map((k) => (k === begin ? -size - 1 : k));
              return fc.tuple(fc.constantFrom(begin, begin - size), end, fc.constant(stride));
            }),
          ),
        ),
      ),
      (x, ranges) =>
        tf.stridedSlice(
          x,
          ranges.map(([begin]) => begin),
          ranges.map(([, end]) => end),
          ranges.map(([, , stride]) => stride),
        ),
    ));

  it('stridedSlice against its stride is empty, although cpu fails', async () => {
    await tf.setBackend('acc');
    tf.tidy(() => {
      expect(tf.stridedSlice(tf.range(0, 4), [3], [1], [1]).shape).toEqual([0]);
      expect(tf.stridedSlice(tf.range(0, 4), [1], [3], [-2]).shape).toEqual([0]);
    });
  });

  it('reverse', () =>
    expectProperty(
      withAttrs(tensors(), ({ length }) => fc.subarray(Array.from({ length }, (_, dim) => dim))),
      (x, dims) => tf.reverse(x, dims),
    ));

  it('pad', () =>
    expectProperty(
      withAttrs(tensors(), (shape) =>
        perDim(shape, () => fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 2 }))),
      ),
      (x, paddings) => tf.pad(x, paddings, 1),
    ));

  it.each(['reflect', 'symmetric'] as const)('mirrorPad, %s', (mode) =>
    expectProperty(
      withAttrs(tensors(1), (shape) =>
        perDim(shape, (size) => {
          const limit = fc.integer({ min: 0, max: mode === 'reflect' ? size - 1 : size });
          return fc.tuple(limit, limit);
        }),
      ),
      (x, paddings) => tf.mirrorPad(x, paddings, mode),
    ),
  );

  it('tile and broadcastTo', () =>
    expectProperty(
      withAttrs(tensors(), (shape) => perDim(shape, () => fc.integer({ min: 1, max: 3 }))),
      (x, reps) => [
        tf.tile(x, reps),
        tf.broadcastTo(
          x,
          x.shape.map((size, dim) => (size === 1 ? reps[dim]! : size)),
        ),
      ],
    ));

  it('diag', () => expectProperty(withAttrs(tensors(), fc.constant), (x) => tf.diag(x)));
});

describe('ops on shapes of strings are as on cpu', () => {
  const texts = (): tf.Tensor2D => tf.tensor2d(['a', 'é', 'c', 'd', 'e', ''], [2, 3], 'string');

  it('as for numbers', () =>
    expectSameAsCpu(() => {
      const x = texts();
      return [
        tf.reshape(x, [3, 2]),
        tf.expandDims(x, 1),
        tf.concat([x, x], 1),
        tf.stack([x, x]),
        ...tf.unstack(x),
        tf.slice(x, [0, 1], [2, 2]),
        tf.stridedSlice(x, [0, 0], [2, 3], [1, 2]),
        tf.tile(x, [1, 2]),
        tf.gatherND(x, tf.tensor2d([[1, 2]], [1, 2], 'int32')),
        tf.sparseToDense(tf.tensor1d([1], 'int32'), tf.tensor1d(['b'], 'string'), [3], 'é'),
      ];
    }));
});
