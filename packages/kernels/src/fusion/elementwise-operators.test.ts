import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fusion, NativeDtype, Recording } from '@acc/contract';
import { numThreads, operator, setNumThreads, tensorFrom, type Tensor as Native } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';
import { shortName } from './report.js';

// Each operator in a fused program and alone, for all dtypes and shapes of its operands.

let backend: AccBackend;
let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  backend = tf.backend() as AccBackend;
  recorder = new StepRecorder(backend);
});

const castTo = operator('aten::_to_copy');
const negated = operator('aten::neg');
const isPositive = operator('aten::gt.Scalar');

/** The dtype and the shape of an operand. */
type Operand = readonly [NativeDtype, readonly number[]];

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

const DENORMAL = 1e-40;
const SPECIAL = [0, -0, NaN, Infinity, -Infinity, 0.1, 0.2, 0.3, 3e38, DENORMAL, 0.9, -0.9];

/** Different numbers. Large tensors begin with special ones, in another order for each seed. */
function tensorOf([dtype, shape]: Operand, seed: number): Native {
  const size = tf.util.sizeFromShape([...shape]);
  const values = Float32Array.from({ length: size }, (_, i) => 2 * Math.sin(i * i + seed));
  const start = seed % SPECIAL.length;
  if (size > SPECIAL.length) values.set([...SPECIAL.slice(start), ...SPECIAL.slice(0, start)]);
  const made = tensorFrom(values, 'float32', shape);
  if (dtype === 'float32') return made;
  using floats = made;
  return dtype === 'bool' ? isPositive(floats, 0) : castTo(floats, dtype);
}

interface Replayed {
  readonly dtype: NativeDtype;
  readonly values: readonly Float32Array[];
  readonly fused: readonly string[];
}

/** Replays an operator and what follows it with other operands than it was recorded with. */
function replayed(operands: readonly Operand[], run: (...xs: Native[]) => Native, fusion: Fusion): Replayed {
  const tensorsOf = (seed: number): tf.Tensor[] =>
    operands.map((operand, i) =>
      backend.tensorOf(tensorOf(operand, seed + i), operand[0] === 'bool' ? 'bool' : 'float32'),
    );
  let dtype: NativeDtype = 'float32';
  return tf.tidy(() => {
    const args = tensorsOf(1);
    const recorded = recorder.record(args, () => {
      const result = run(...args.map((arg) => backend.nativeOfData(arg)!));
      ({ dtype } = result);
      const made = [result, negated(castTo(result, 'float32'))];
      return made.map((native) => backend.tensorOf(native, native.dtype === 'bool' ? 'bool' : 'float32'));
    });
    const recording = recorded.recording as Recording;
    recording.seal(fusion);
    const results = recording.replay(tensorsOf(50));
    if (results instanceof Error) throw results;
    const values = results.map((x) => castTo(backend.nativeOfData(x)!, 'float32').read() as Float32Array);
    const fused = [...recording.explanation.matchAll(/out: (.*)$/gm)].flatMap(([, names]) =>
      names!.split(' '),
    );
    recording.dispose();
    return { dtype, values, fused };
  });
}

/** The largest difference by rounding, for the dtype of the operator's result. */
const BOUNDS: Partial<Record<NativeDtype, number>> = { float32: 1e-6, bfloat16: 2 ** -7, bool: 0 };

/** The first pair of numbers that differ by more than `bound`, relative to numbers above 1. */
function difference(values: Float32Array, others: Float32Array, bound: number): number[] | undefined {
  for (const [i, value] of values.entries()) {
    const other = others[i]!;
    const isClose = Math.abs(value - other) <= bound * Math.max(1, Math.abs(value));
    if (!Object.is(value, other) && !isClose) return [value, other];
  }
  return undefined;
}

function check(name: string, operands: readonly Operand[], run: (...xs: Native[]) => Native): void {
  const alone = replayed(operands, run, false);
  const exact = replayed(operands, run, 'exact');
  const close = replayed(operands, run, true);
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

const OPERATORS: Readonly<Record<string, readonly (readonly Operand[])[]>> = {
  ...Object.fromEntries(['neg', 'abs', 'relu'].map((op) => [op, floats])),
  ...Object.fromEntries(
    ['rsqrt', 'sqrt', 'reciprocal', 'tanh', 'sigmoid', 'logical_not'].map((op) => [op, all]),
  ),
  square: floats,
  'sub.Tensor': pairs,
  ...Object.fromEntries(['add.Tensor', 'mul.Tensor', 'div.Tensor'].map((op) => [op, withMasks])),
  ...Object.fromEntries(['maximum', 'minimum', 'logical_and', 'logical_or'].map((op) => [op, withMasks])),
  ...Object.fromEntries(['gt', 'ge', 'lt', 'le', 'eq', 'ne'].map((op) => [`${op}.Tensor`, withMasks])),
  'where.self': [F, B, F0, B0].flatMap((a) => [F, B, F0, B0].map((b) => [M, a, b])),
  ...Object.fromEntries(
    ['tanh_backward', 'sigmoid_backward'].map((op) => [
      op,
      [
        [F, F],
        [B, B],
      ],
    ]),
  ),
};

const NUMBERS: Readonly<Record<string, readonly [readonly (readonly Operand[])[], readonly number[]]>> = {
  'add.Scalar': [all, [0.1, -0.3, 1.5]],
  'sub.Scalar': [floats, [0.1, -0.3, 1]],
  'mul.Scalar': [all, [0.1, -0.3, 2.5]],
  'div.Scalar': [all, [0.1, -0.3, 2.5]],
  ...Object.fromEntries(['gt', 'ge', 'lt', 'le'].map((op) => [`${op}.Scalar`, [all, [0.1, 0.2, 0]]])),
  'pow.Tensor_Scalar': [floats, [-2, -1, -0.5, 0.5, 2, 3]],
};

describe("an operator in a program computes as alone: the same bits with 'exact', and close numbers", () => {
  it.each(Object.entries(OPERATORS))('%s', (op, lists) => {
    const run = operator(`aten::${op}`) as (...xs: Native[]) => Native;
    for (const operands of lists) check(`aten::${op}`, operands, run);
  });

  it.each(Object.entries(NUMBERS))('%s', (op, [lists, numbers]) => {
    const run = operator(`aten::${op}`) as (x: Native, number: number) => Native;
    for (const operands of lists) {
      for (const number of numbers) check(`aten::${op}`, operands, (x) => run(x, number));
    }
  });
});

it('computes blocks in several threads', () => {
  const threads = numThreads();
  setNumThreads(3);
  const add = operator('aten::add.Tensor');
  const multiply = operator('aten::mul.Tensor');
  const large: Operand = ['float32', [300, 301]];
  const column: Operand = ['float32', [300, 1]];
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
      const recording = recorder.record([x], () => step(x)).recording as Recording;
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
