import * as fc from 'fast-check';
import * as tf from '@tensorflow/tfjs';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { elements, finiteFloats, ints, make, tensorOf, type RealDtype } from '../testing/values.js';

const DTYPES: readonly RealDtype[] = ['float32', 'int32', 'bool'];
const SHAPES: readonly (readonly number[])[] = [
  [],
  [1],
  [5],
  [0],
  [2, 3],
  [3, 0],
  [0, 2],
  [2, 3, 4],
  [2, 1, 3, 2],
];
const RUNS = { numRuns: 4 };

/** Every set of axes of a tensor of that rank, some counted from the end; null means all axes. */
function axesOf(rank: number): (number[] | null)[] {
  const sets = Array.from({ length: 2 ** rank }, (_, bits) =>
    Array.from({ length: rank }, (_, dim) => dim).filter((dim) => bits & (1 << dim)),
  );
  return [null, ...sets, ...(rank > 0 ? [[-1]] : [])];
}

interface Attrs {
  axis: number[] | null;
  keepDims: boolean;
}

async function expectReductionAsOnCpu(
  dtypes: readonly RealDtype[],
  values: (dtype: RealDtype) => fc.Arbitrary<number>,
  reduce: (x: tf.Tensor, attrs: Attrs) => tf.Tensor,
): Promise<void> {
  for (const dtype of dtypes) {
    for (const shape of SHAPES) {
      for (const axis of axesOf(shape.length)) {
        for (const keepDims of [false, true]) {
          await fc.assert(
            fc.asyncProperty(tensorOf(dtype, shape, values(dtype)), (spec) =>
              expectSameAsCpu(() => reduce(make(spec), { axis, keepDims })),
            ),
            RUNS,
          );
        }
      }
    }
  }
}

const run = (name: string, x: tf.Tensor, attrs: object): tf.Tensor =>
  tf.engine().runKernel(name, { x }, attrs as never);

describe('reductions', () => {
  it.each(['Sum', 'Mean', 'Min'])('%s is as on cpu', (name) =>
    expectReductionAsOnCpu(
      DTYPES,
      (dtype) => (dtype === 'float32' ? fc.oneof(finiteFloats(), fc.constant(NaN)) : elements(dtype)),
      (x, attrs) => run(name, x, attrs),
    ),
  );

  it("Prod is as on cpu, as far as cpu's doubles are exact", () =>
    expectReductionAsOnCpu(
      DTYPES,
      (dtype) => (dtype === 'int32' ? ints(3) : dtype === 'bool' ? elements(dtype) : finiteFloats(2)),
      (x, attrs) => run('Prod', x, attrs),
    ));

  it('Max is as on cpu', () =>
    expectReductionAsOnCpu(DTYPES, elements, (x, { axis, keepDims }) =>
      run('Max', x, { reductionIndices: axis, keepDims }),
    ));

  it.each(['All', 'Any'])('%s is as on cpu', (name) =>
    expectReductionAsOnCpu(['bool'], elements, (x, attrs) => run(name, x, attrs)),
  );

  it('adds int32 with wrap-around', () =>
    expectSameAsCpu(() => tf.sum(tf.tensor1d([2 ** 31 - 1, 5, 2 ** 31 - 1], 'int32'))));

  it('has the gradients of cpu', () =>
    expectSameAsCpu(() => {
      const x = tf.tensor3d([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [2, 3, 2]);
      const grad = (f: (x: tf.Tensor) => tf.Tensor): tf.Tensor => tf.grad((y) => tf.square(f(y)))(x);
      return [
        grad((y) => tf.sum(y, 1)),
        grad((y) => tf.mean(y, [0, 2])),
        grad((y) => tf.max(y, -1)),
        grad((y) => tf.min(y, 1)),
        grad((y) => tf.prod(y, 2)),
      ];
    }));
});

describe('ArgMax and ArgMin', () => {
  it.each(['ArgMax', 'ArgMin'])('%s is as on cpu, with ties and NaN', async (name) => {
    for (const dtype of DTYPES) {
      for (const shape of SHAPES.filter(({ length }) => length > 0)) {
        for (let axis = -1; axis < shape.length; axis++) {
          await fc.assert(
            fc.asyncProperty(tensorOf(dtype, shape, dtype === 'int32' ? ints(2) : elements(dtype)), (spec) =>
              expectSameAsCpu(() => run(name, make(spec), { axis })),
            ),
            { numRuns: 12 },
          );
        }
      }
    }
  });
});

describe('Cumsum and Cumprod', () => {
  it.each(['Cumsum', 'Cumprod'])('%s is as on cpu', async (name) => {
    for (const dtype of DTYPES) {
      for (const shape of [[5], [2, 3], [2, 3, 4]]) {
        for (let axis = 0; axis < shape.length; axis++) {
          for (const [exclusive, reverse] of [0, 1, 2, 3].map((bits) => [(bits & 1) > 0, (bits & 2) > 0])) {
            const values = dtype === 'float32' ? finiteFloats(2) : elements(dtype);
            await fc.assert(
              fc.asyncProperty(tensorOf(dtype, shape, values), (spec) =>
                expectSameAsCpu(() => run(name, make(spec), { axis, exclusive, reverse })),
              ),
              RUNS,
            );
          }
        }
      }
    }
  });
});
