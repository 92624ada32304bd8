import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import { numThreads, operator, setNumThreads, type Tensor as Native } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { shortName } from './report.js';
import { BOUNDS, difference, negated, Replayer, type Operand } from './testing-replays.js';

// Each operator in a fused program and alone, for all dtypes and shapes of its operands.

let replayer: Replayer;
beforeAll(async () => {
  replayer = await Replayer.create();
});

// Two blocks, of which the last one is not full.
const WHOLE = [5, 301];
const ROW = [301];
const [F, B, M]: readonly [Operand, Operand, Operand] = [
  ['float32', WHOLE],
  ['bfloat16', WHOLE],
  ['bool', WHOLE],
];
const [F0, B0]: readonly [Operand, Operand] = [
  ['float32', []],
  ['bfloat16', []],
];
const [F1, BR]: readonly [Operand, Operand] = [
  ['float32', [1]],
  ['bfloat16', ROW],
];

function check(name: string, operands: readonly Operand[], run: (...xs: Native[]) => Native): void {
  const alone = replayer.replayed(operands, run, false);
  const exact = replayer.replayed(operands, run, 'exact');
  const close = replayer.replayed(operands, run, true);
  const isSumOfBools = name === 'aten::add.Tensor' && alone.dtype === 'bool';
  expect(close.fused.includes(shortName(name))).toBe(!isSumOfBools);
  alone.values.forEach((values, k) => {
    expect(difference(values, exact.values[k]!, NaN)).toBeUndefined();
    expect(difference(values, close.values[k]!, BOUNDS[alone.dtype]!)).toBeUndefined();
  });
}

const floats = [[F], [B]];
const all = [...floats, [M]];
const pairs = [
  ...[F, B].flatMap((a) => [F, B, F0, B0, F1, BR].map((b) => [a, b])),
  ...[F0, B0].flatMap((a) => [F, B].map((b) => [a, b])),
];
const withMasks = [...pairs, ...[F, B].map((a) => [a, M]), ...[F0, B0, M].map((b) => [M, b])];

const SAME: readonly (readonly Operand[])[] = [
  [F, F],
  [B, B],
];

/** Operators that libtorch and programs compute in different ways. */
const OWN: Readonly<Record<string, readonly (readonly Operand[])[]>> = {
  relu: floats,
  ...Object.fromEntries(['rsqrt', 'sqrt', 'tanh', 'sigmoid', 'exp', 'log', 'erf'].map((op) => [op, all])),
  ...Object.fromEntries(['maximum', 'minimum'].map((op) => [op, withMasks])),
  ...Object.fromEntries(['tanh_backward', 'sigmoid_backward'].map((op) => [op, SAME])),
};

const OPERATORS: Readonly<Record<string, readonly (readonly Operand[])[]>> = {
  ...Object.fromEntries(
    Object.entries(OWN).flatMap(([op, lists]) => [
      [`aten::${op}`, lists],
      [`acc::${op}`, lists],
    ]),
  ),
  ...Object.fromEntries(['neg', 'abs'].map((op) => [`aten::${op}`, floats])),
  ...Object.fromEntries(['reciprocal', 'logical_not'].map((op) => [`aten::${op}`, all])),
  'aten::square': floats,
  'aten::sub.Tensor': pairs,
  ...Object.fromEntries(['add.Tensor', 'mul.Tensor', 'div.Tensor'].map((op) => [`aten::${op}`, withMasks])),
  ...Object.fromEntries(['logical_and', 'logical_or'].map((op) => [`aten::${op}`, withMasks])),
  ...Object.fromEntries(['gt', 'ge', 'lt', 'le', 'eq', 'ne'].map((op) => [`aten::${op}.Tensor`, withMasks])),
  'aten::where.self': [F, B, F0, B0].flatMap((a) => [F, B, F0, B0].map((b) => [M, a, b])),
};

const NUMBERS: Readonly<Record<string, readonly [readonly (readonly Operand[])[], readonly number[]]>> = {
  'add.Scalar': [all, [0.1, -0.3, 1.5]],
  'sub.Scalar': [floats, [0.1, -0.3, 1]],
  'mul.Scalar': [all, [0.1, -0.3, 2.5]],
  'div.Scalar': [all, [0.1, -0.3, 2.5]],
  ...Object.fromEntries(['gt', 'ge', 'lt', 'le'].map((op) => [`${op}.Scalar`, [all, [0.1, 0.2, 0]]])),
  'pow.Tensor_Scalar': [floats, [-2, -1, 2, 3]],
};

/** Operators with several numbers after their tensors. */
const SETTINGS: Readonly<
  Record<string, readonly [readonly (readonly Operand[])[], readonly (number | null)[][]]>
> = {
  threshold_backward: [
    [
      [F, F],
      [B, B],
      [F, B],
    ],
    [[0]],
  ],
  leaky_relu: [floats, [[0.2], [-0.3]]],
  leaky_relu_backward: [
    [
      [F, F],
      [B, B],
    ],
    [
      [0.2, 0],
      [-0.3, 0],
    ],
  ],
  clamp: [
    floats,
    [
      [-0.3, 0.7],
      [null, 0.1],
      [0.1, null],
    ],
  ],
};

describe("an operator in a program computes as alone: the same bits with 'exact', and close numbers", () => {
  it.each(Object.entries(OPERATORS))('%s', (op, lists) => {
    const run = operator(op) as (...xs: Native[]) => Native;
    for (const operands of lists) check(op, operands, run);
  });

  it.each(Object.entries(OWN))('in a program in any case: acc::%s', (op, lists) => {
    const run = operator(`acc::${op}`) as (...xs: Native[]) => Native;
    for (const operands of lists) {
      // A GPU has no operators of ours that run alone.
      const isOnHost = (tf.backend() as AccBackend).device === 'cpu';
      const isOfBools = operands.every(([dtype]) => dtype === 'bool') && op.endsWith('imum');
      const { fused } = replayer.replayed(operands, run, 'exact');
      expect(fused.includes(op) || isOfBools).toBe(isOnHost || isOfBools);
    }
  });

  it.each(Object.entries(NUMBERS))('%s', (op, [lists, numbers]) => {
    const run = operator(`aten::${op}`) as (x: Native, number: number) => Native;
    for (const operands of lists) {
      for (const number of numbers) check(`aten::${op}`, operands, (x) => run(x, number));
    }
  });

  it.each(Object.entries(SETTINGS))('%s', (op, [lists, settings]) => {
    const run = operator(`aten::${op}`);
    for (const operands of lists) {
      for (const given of settings) check(`aten::${op}`, operands, (...xs) => run(...xs, ...given));
    }
  });
});

describe('the tanh form of GELU', () => {
  it.each([
    ['gelu', floats],
    ['gelu_backward', SAME],
  ] as const)('%s', (name, lists) => {
    const run =
      (library: string) =>
      (...xs: Native[]) =>
        operator(`${library}::${name}`)(...xs, 'tanh');
    for (const operands of lists) {
      check(`acc::${name}`, operands, run('acc'));
      const [own, libtorch] = ['acc', 'aten'].map((of) => replayer.replayed(operands, run(of), false));
      own!.values.forEach((values, k) => {
        expect(difference(values, libtorch!.values[k]!, BOUNDS[own!.dtype]!)).toBeUndefined();
      });
    }
  });
});

it('computes blocks in several threads', () => {
  const threads = numThreads();
  setNumThreads(3);
  const add = operator('aten::add.Tensor');
  const multiply = operator('aten::mul.Tensor');
  const large: Operand = ['float32', [700, 301]];
  const column: Operand = ['float32', [700, 1]];
  check('aten::mul.Tensor', [large, ['bfloat16', ROW], column], (x, row, other) =>
    multiply(add(negated(x), row), other),
  );
  setNumThreads(threads);
});

it('computes tensors without elements', () => {
  check('aten::mul.Tensor', [['float32', [0, 301]], BR], operator('aten::mul.Tensor'));
});

it('does not write a result into memory that a view still holds', () => {
  const exp = operator('aten::exp');
  const transposed = operator('aten::t');
  const add = operator('aten::add.Tensor');
  const square = operator('aten::square');
  check('aten::square', [['float32', [30, 50]]], (x) => {
    const y = exp(x);
    const view = transposed(y);
    const later = exp(square(negated(y)));
    return square(add(later, transposed(exp(view))));
  });
});

it('keeps 0 and -0 apart', () => {
  const step = (x: tf.Tensor) => [0, -0].map((zero) => x.neg().mul(x.add(tf.scalar(zero))));
  const valuesWith = (fusion: Fusion) =>
    tf.tidy(() => {
      const x = tf.tensor1d([1, -0, 2]);
      const recording = replayer.recorder.record([x], () => step(x)).recording as Recording;
      recording.seal(fusion);
      const results = recording.replay([tf.tensor1d([-0, -1, 3])]) as tf.Tensor[];
      const values = results.map((result) => [...result.dataSync()]);
      recording.dispose();
      return values;
    });
  expect(valuesWith('exact')).toEqual([
    [0, -1, -9],
    [-0, -1, -9],
  ]);
  expect(valuesWith(false)).toEqual(valuesWith('exact'));
});
