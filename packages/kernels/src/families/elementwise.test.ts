import * as fc from 'fast-check';
import { complex, engine, setBackend, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { expectSameAsCpu } from '../testing/compare.js';
import {
  BROADCAST_SHAPES,
  elements,
  finiteFloats,
  floats,
  ints,
  make,
  tensorOf,
  type RealDtype,
} from '../testing/values.js';

const DTYPES: readonly RealDtype[] = ['float32', 'int32', 'bool'];
const RUNS = { numRuns: 12 };

const UNARY: readonly string[] = (
  'Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Expm1 Floor IsFinite IsInf IsNan Log Log1p ' +
  'Neg Reciprocal Relu Relu6 Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Sqrt Square Tan Tanh'
).split(' ');

const WITH_ATTRS: readonly (readonly [string, NamedAttrMap])[] = [
  ['ClipByValue', { clipValueMin: -2.5, clipValueMax: 3.75 }],
  ['ClipByValue', { clipValueMin: -Infinity, clipValueMax: 2 }],
  ['ClipByValue', { clipValueMin: 1e-7, clipValueMax: Number.MAX_VALUE }],
  ['ClipByValue', { clipValueMin: -3, clipValueMax: 4e9 }],
  ['LeakyRelu', { alpha: 0.2 }],
  ['Step', { alpha: 0 }],
  ['Step', { alpha: -0.5 }],
  ['Step', { alpha: 3 }],
  ...(['float32', 'int32', 'bool'] as const).map((dtype) => ['Cast', { dtype }] as const),
];

const run = (name: string, inputs: Record<string, Tensor>, attrs?: NamedAttrMap): Tensor =>
  engine().runKernel(name, inputs, attrs);

describe('unary kernels', () => {
  const cases = [...UNARY.map((name) => [name, {}] as const), ...WITH_ATTRS];
  it.each(cases)('%s %o is as on cpu', async (name, attrs) => {
    for (const dtype of DTYPES) {
      for (const shape of [[], [0], [3, 7]]) {
        await fc.assert(
          fc.asyncProperty(tensorOf(dtype, shape), (spec) =>
            expectSameAsCpu(() => run(name, { x: make(spec) }, attrs)),
          ),
          RUNS,
        );
      }
    }
  });

  it('LogicalNot is as on cpu', async () => {
    for (const dtype of DTYPES) {
      await fc.assert(
        fc.asyncProperty(tensorOf(dtype, [9], fc.constantFrom(0, 1)), (spec) =>
          expectSameAsCpu(() => run('LogicalNot', { x: make(spec) })),
        ),
        RUNS,
      );
    }
  });

  it('refuse complex numbers if tfjs does not support them', async () => {
    await setBackend('acc');
    const x = complex([1], [2]);
    expect(() => run('Exp', { x })).toThrowError(
      expect.toSatisfy((error) => isAccError(error, 'ACC_DTYPE_UNSUPPORTED')),
    );
    x.dispose();
  });
});

/** Values for which the cpu backend's arithmetic in doubles is exact, or agrees with IEEE 754. */
const BINARY: Readonly<Record<string, Partial<Record<RealDtype, fc.Arbitrary<number>>>>> = {
  Add: { int32: ints(2 ** 31 - 1) },
  Atan2: {},
  BitwiseAnd: { float32: ints(), int32: ints(2 ** 31 - 1) },
  Equal: {},
  FloorDiv: { int32: fc.oneof(ints(3), ints(2 ** 31 - 1)) },
  Greater: { int32: ints(2 ** 31 - 1) },
  GreaterEqual: {},
  Less: {},
  LessEqual: {},
  LogicalAnd: { float32: fc.constantFrom(0, 1), int32: fc.constantFrom(0, 1) },
  LogicalOr: { float32: fc.constantFrom(0, 1), int32: fc.constantFrom(0, 1) },
  Maximum: { int32: ints(2 ** 31 - 1) },
  Minimum: {},
  Mod: { float32: finiteFloats(), int32: fc.oneof(ints(3), ints(2 ** 31 - 1)) },
  Multiply: { int32: ints(2 ** 26) },
  NotEqual: {},
  Pow: { float32: finiteFloats(4), int32: ints(8) },
  RealDiv: { int32: fc.oneof(ints(3), ints(2 ** 31 - 1)) },
  SquaredDifference: { int32: ints(2 ** 25) },
  Sub: { int32: ints(2 ** 31 - 1) },
};

describe('binary kernels', () => {
  it.each(Object.entries(BINARY))('%s is as on cpu', async (name, values) => {
    const dtypes = name === 'BitwiseAnd' ? (['int32'] as const) : DTYPES;
    for (const dtype of dtypes) {
      for (const [shapeA, shapeB] of BROADCAST_SHAPES) {
        const spec = (shape: readonly number[]) => tensorOf(dtype, shape, values[dtype] ?? elements(dtype));
        await fc.assert(
          fc.asyncProperty(spec(shapeA), spec(shapeB), (a, b) =>
            expectSameAsCpu(() => run(name, { a: make(a), b: make(b) })),
          ),
          RUNS,
        );
      }
    }
  });

  it.each([
    ['float32', 'int32'],
    ['int32', 'float32'],
    ['bool', 'float32'],
    ['float32', 'bool'],
    ['int32', 'bool'],
  ] as const)('mixes %s and %s as cpu does', async (dtypeA, dtypeB) => {
    for (const name of ['Add', 'Sub', 'Multiply', 'RealDiv', 'FloorDiv', 'Maximum', 'Less', 'Equal']) {
      await fc.assert(
        fc.asyncProperty(
          tensorOf(dtypeA, [5], dtypeA === 'float32' ? floats(100) : undefined),
          tensorOf(dtypeB, [5], dtypeB === 'float32' ? floats(100) : undefined),
          (a, b) => expectSameAsCpu(() => run(name, { a: make(a), b: make(b) })),
        ),
        RUNS,
      );
    }
  });
});

describe('kernels with other input names', () => {
  it('Prelu is as on cpu, with alpha broadcast both ways', async () => {
    for (const dtype of DTYPES) {
      for (const [shapeX, shapeAlpha] of BROADCAST_SHAPES) {
        await fc.assert(
          fc.asyncProperty(
            tensorOf(dtype, shapeX),
            tensorOf('float32', shapeAlpha, finiteFloats()),
            (x, alpha) => expectSameAsCpu(() => run('Prelu', { x: make(x), alpha: make(alpha) })),
          ),
          RUNS,
        );
      }
    }
  });

  it('EluGrad is as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(
        tensorOf('float32', [21], floats(1)),
        tensorOf('float32', [21], finiteFloats()),
        (y, dy) => expectSameAsCpu(() => run('EluGrad', { dy: make(dy), y: make(y) })),
      ),
      RUNS,
    );
  });

  it.each([1, 2, 4])('AddN of %i is as on cpu', async (count) => {
    for (const dtype of ['float32', 'int32'] as const) {
      await fc.assert(
        fc.asyncProperty(fc.array(tensorOf(dtype, [3, 2]), { minLength: count, maxLength: count }), (specs) =>
          expectSameAsCpu(() => {
            const inputs = specs.map(make) as unknown as Record<string, Tensor>;
            return run('AddN', inputs);
          }),
        ),
        RUNS,
      );
    }
  });
});
