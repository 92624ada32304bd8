import * as fc from 'fast-check';
import {
  abs,
  add,
  engine,
  max,
  mul,
  range,
  reshape,
  sin,
  sub,
  util,
  type NamedAttrMap,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { expectSameAsCpu } from '../testing/compare.js';
import { floats, ints, make, tensorOf, type RealDtype } from '../testing/values.js';

const RUNS = { numRuns: 200 };

const run = (name: string, inputs: Record<string, Tensor | undefined>, attrs: object): Tensor =>
  engine().runKernel(name, inputs as Record<string, Tensor>, attrs as NamedAttrMap);

const size = fc.integer({ min: 0, max: 5 });

/**
 * Leading dims of two operands that tfjs cpu can broadcast: one operand has all of them, or the
 * dims are 1.
 */
const BATCHES: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[], []],
  [[1], [1]],
  [[3], [3]],
  [[3], [1]],
  [[1], [3]],
  [
    [2, 3],
    [2, 3],
  ],
  [[], [4]],
];

/** Values of two operands, whose shapes fit the transpositions. */
const operands = (dtype: RealDtype, values: fc.Arbitrary<number>) =>
  fc
    .record({
      m: size,
      k: size,
      n: size,
      batch: fc.constantFrom(...BATCHES),
      transposeA: fc.boolean(),
      transposeB: fc.boolean(),
    })
    .chain(({ m, k, n, batch: [batchA, batchB], transposeA, transposeB }) =>
      fc.record({
        a: tensorOf(dtype, [...batchA, ...(transposeA ? [k, m] : [m, k])], values),
        b: tensorOf(dtype, [...batchB, ...(transposeB ? [n, k] : [k, n])], values),
        bias: tensorOf(dtype, [n], values),
        attrs: fc.constant({ transposeA, transposeB }),
      }),
    );

describe('BatchMatMul', () => {
  it.each([
    ['float32', ints(5)],
    ['int32', ints(2 ** 25)],
    ['bool', fc.constantFrom(0, 1)],
  ] as const)('of %s is as on cpu', async (dtype, values) => {
    await fc.assert(
      fc.asyncProperty(operands(dtype, values), ({ a, b, attrs }) =>
        expectSameAsCpu(() => run('BatchMatMul', { a: make(a), b: make(b) }, attrs)),
      ),
      RUNS,
    );
  });

  it('propagates NaN and infinities as cpu does', async () => {
    const values = fc.oneof({ weight: 9, arbitrary: ints(5) }, { weight: 1, arbitrary: floats() });
    await fc.assert(
      fc.asyncProperty(operands('float32', values), ({ a, b, attrs }) =>
        expectSameAsCpu(() => run('BatchMatMul', { a: make(a), b: make(b) }, attrs), { rtol: 1e-4 }),
      ),
      RUNS,
    );
  });

  it('broadcasts leading dims both ways', async () => {
    const { ones, setBackend, tidy } = await import('@tensorflow/tfjs-core');
    const { registerAccBackend } = await import('../register-backend.js');
    registerAccBackend();
    await setBackend('acc');
    const shape = tidy(
      () => run('BatchMatMul', { a: ones([2, 1, 3, 4]), b: ones([5, 4, 2]) }, NOT_TRANSPOSED).shape,
    );
    expect(shape).toEqual([2, 5, 3, 2]);
  });
});

const NOT_TRANSPOSED = { transposeA: false, transposeB: false };
const ACTIVATIONS = ['linear', 'relu', 'relu6', 'elu', 'sigmoid', 'leakyrelu', 'prelu'] as const;

describe('_FusedMatMul', () => {
  it.each(ACTIVATIONS)('with %s is as on cpu', async (activation) => {
    await fc.assert(
      fc.asyncProperty(operands('float32', ints(5)), fc.boolean(), ({ a, b, bias, attrs }, isBiased) =>
        expectSameAsCpu(() => {
          const preluActivationWeights = activation === 'prelu' ? make(bias) : undefined;
          const inputs = { a: make(a), b: make(b), bias: isBiased ? make(bias) : undefined };
          return run(
            '_FusedMatMul',
            { ...inputs, preluActivationWeights },
            { ...attrs, activation, leakyreluAlpha: 0.3 },
          );
        }),
      ),
      RUNS,
    );
  });

  it('accepts integers and an integer bias', async () => {
    await fc.assert(
      fc.asyncProperty(operands('int32', ints(100)), ({ a, b, bias, attrs }) =>
        expectSameAsCpu(() =>
          run('_FusedMatMul', { a: make(a), b: make(b), bias: make(bias) }, { ...attrs, activation: 'relu' }),
        ),
      ),
      RUNS,
    );
  });

  it('refuses an unknown activation', async () => {
    const { ones, setBackend, tidy } = await import('@tensorflow/tfjs-core');
    await setBackend('acc');
    tidy(() => {
      const inputs = { a: ones([1, 2, 2]), b: ones([1, 2, 2]) };
      expect(() => run('_FusedMatMul', inputs, { ...NOT_TRANSPOSED, activation: 'swoosh' })).toThrowError(
        expect.toSatisfy((error) => isAccError(error, 'ACC_ACTIVATION_UNKNOWN')),
      );
    });
  });
});

describe('Einsum', () => {
  it.each([
    ['ij,jk->ik', [2, 3], [3, 4]],
    ['bij,bkj->bik', [2, 3, 4], [2, 5, 4]],
    ['abc,cd->abd', [2, 1, 3], [3, 2]],
    ['i,j->ij', [3], [2]],
    ['ij,ij->', [2, 3], [2, 3]],
    ['ijk->kj', [2, 3, 4], undefined],
    ['ij->i', [0, 3], undefined],
  ] as const)('%s is as on cpu', async (equation, shapeA, shapeB) => {
    for (const dtype of ['float32', 'int32'] as const) {
      const specs = [shapeA, shapeB].filter((shape) => shape !== undefined);
      await fc.assert(
        fc.asyncProperty(fc.tuple(...specs.map((shape) => tensorOf(dtype, shape, ints(9)))), (tensors) =>
          expectSameAsCpu(() => run('Einsum', tensors.map(make) as never, { equation })),
        ),
        { numRuns: 30 },
      );
    }
  });
});

describe('a product in 8 bits', () => {
  const wave = (shape: number[], seed: number): Tensor =>
    reshape(sin(add(mul(range(0, util.sizeFromShape(shape)), 1.7), seed)), shape);
  const ends = [
    ...[[3], [1, 3], [1], [], [4, 3]].map((bias) => ({ bias, activation: 'relu' })),
    { bias: [3], activation: 'prelu' },
    { bias: [4, 3], activation: 'prelu' },
  ];

  it.each(ends)('takes a bias of $bias before $activation', ({ bias, activation }) => {
    const isPrelu = activation === 'prelu';
    const inputs = {
      a: wave([4, 5], 1),
      b: wave([5, 3], 2),
      bias: wave(bias, 3),
      ...(isPrelu && { preluActivationWeights: wave([3], 4) }),
    };
    const attrs = { transposeA: false, transposeB: false, activation };
    const wide = run('_FusedMatMul', inputs, attrs);
    const narrow = run('_FusedMatMul', inputs, {
      ...attrs,
      eightBits: { format: 'int8', product: 'forward', seed: 0 },
    });
    expect(narrow.shape).toEqual([4, 3]);
    expect(max(abs(sub(narrow, wide))).dataSync()[0]).toBeLessThan(0.06);
    expect(narrow.dataSync()).not.toEqual(wide.dataSync());
  });
});
