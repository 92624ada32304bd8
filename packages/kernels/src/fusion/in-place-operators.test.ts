import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { operator, operatorInPlace, tensorFrom, type OperatorArgument, type Tensor } from '@acc/native';
import type { NativeDtype } from '@acc/contract';
import { outOfPlace } from './in-place-operators.js';
import { GraphBuilder } from './testing.js';
import { castTo } from './testing-replays.js';
import { registerAccBackend } from '../register-backend.js';

// Each operator in place and out of place: the same bits, dtype and layout.

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const SHAPE = [7, 37];
const SPECIAL = [0, -0, NaN, Infinity, -Infinity, 0.1, 3e38, 1e-40];
type Given = readonly [NativeDtype | 'self', readonly number[]] | number | boolean;

const isTensor = (given: Given): given is readonly [NativeDtype | 'self', readonly number[]] =>
  Array.isArray(given);

function tensorOf([dtype, shape]: readonly [NativeDtype, readonly number[]], seed: number): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const values = Float32Array.from({ length: size }, (_, i) => 2 * Math.sin(i * i + seed));
  if (size > 100) values.set(SPECIAL, seed);
  const created = tensorFrom(values, 'float32', shape);
  if (dtype === 'float32') return created;
  using floats = created;
  if (dtype === 'bool') return operator('aten::gt.Scalar')(floats, 0);
  return dtype === 'int64' ? operator('aten::arange')(size, dtype) : castTo(floats, dtype);
}

const bitsOf = (x: Tensor): number[] => {
  using floats = castTo(x, 'float32');
  return [...new Int32Array((floats.read() as Float32Array).slice().buffer)];
};

const FLOATS: readonly NativeDtype[] = ['float32', 'bfloat16', 'float16'];
const DTYPES: readonly NativeDtype[] = [...FLOATS, 'bool', 'int32'];
const others = DTYPES.flatMap((dtype) =>
  [SHAPE, [37], []].map((shape): readonly Given[] => [[dtype, shape]]),
);
const floats = others.filter(([x]) => isTensor(x!) && x[0] !== 'bool');
const numbers = [0.1, -0.3, 3, 0].map((number): readonly Given[] => [number]);
const none: readonly (readonly Given[])[] = [[]];
const ofUnary = (names: readonly string[]) => names.map((name) => [name, none] as const);

const OPERATORS: readonly (readonly [string, readonly (readonly Given[])[]])[] = [
  ['add_.Tensor', others.flatMap((x) => [x, [...x, -0.7]])],
  // Nothing can be subtracted from a bool, nor a bool from anything.
  ['sub_.Tensor', floats.flatMap((x) => [x, [...x, -0.7]])],
  ...['mul_.Tensor', 'div_.Tensor', 'pow_.Tensor'].map((name) => [name, others] as const),
  ...['add_.Scalar', 'sub_.Scalar', 'mul_.Scalar', 'div_.Scalar'].map((name) => [name, numbers] as const),
  ['pow_.Scalar', [...numbers, [0.5], [-0.5], [-1], [2]]],
  ...ofUnary([
    'neg_',
    'abs_',
    'sign_',
    'square_',
    'reciprocal_',
    'sqrt_',
    'rsqrt_',
    'exp_',
    'expm1_',
    'log_',
  ]),
  ...ofUnary(['log1p_', 'sin_', 'cos_', 'tan_', 'tanh_', 'sigmoid_', 'floor_', 'ceil_', 'round_', 'trunc_']),
  ...ofUnary(['relu_', 'relu6_', 'elu_', 'leaky_relu_', 'hardtanh_']),
  ['threshold_', [[0.1, -2]]],
  ['clamp_', [[-0.5, 0.7]]],
  ...['clamp_min_', 'clamp_max_'].map((name) => [name, numbers] as const),
  ['lerp_.Scalar', [[['self', SHAPE], 0.3]]],
  [
    'addcmul_',
    [
      [
        ['self', SHAPE],
        ['self', [37]],
      ],
    ],
  ],
  [
    'addcdiv_',
    [
      [
        ['self', SHAPE],
        ['self', [37]],
      ],
    ],
  ],
  ['masked_fill_.Scalar', [[['bool', SHAPE], -0.3]]],
  ['index_add_', [[0, ['int64', [7]], ['self', SHAPE]]]],
];

/** The bits of both forms where the second is taken. */
function compare(name: string, self: NativeDtype, list: readonly Given[], isTurned: boolean): boolean {
  const given = list.map((each) =>
    isTensor(each) ? ([each[0] === 'self' ? self : each[0], each[1]] as const) : each,
  );
  const graph = new GraphBuilder(SHAPE);
  const created = graph.call('abs', [graph.input(SHAPE, self)], { dtype: self, isContiguous: !isTurned });
  const values = given.map((each) => (isTensor(each) ? graph.input(each[1], each[0]) : each));
  const uses = [created, ...values.filter((_, i) => isTensor(given[i]!))] as number[];
  graph.write(name, uses);
  const built = graph.build(created);
  const call = built.segments[0]!.nodes[1]!;
  const instead = call.kind === 'call' ? outOfPlace(call, built, true) : undefined;
  if (instead === undefined) return false;
  const operands = given.map((each, i): OperatorArgument => (isTensor(each) ? tensorOf(each, i + 2) : each));
  const x = isTurned
    ? operator('aten::t')(tensorOf([self, SHAPE.toReversed()], 1))
    : tensorOf([self, SHAPE], 1);
  const y = operator(instead)(x, ...operands);
  operatorInPlace(`aten::${name}`)(x, ...operands);
  expect(y.dtype).toBe(x.dtype);
  expect(y.shape).toEqual(x.shape);
  const layoutOf = (tensor: Tensor) => bitsOf(operator('aten::as_strided')(tensor, [7 * 37], [1]));
  expect(layoutOf(y)).toEqual(layoutOf(x));
  return true;
}

describe('an operator that returns a new value computes what the one in place writes', () => {
  it.each(OPERATORS)('%s', (name, lists) => {
    let count = 0;
    for (const self of FLOATS) {
      for (const given of lists) {
        for (const isTurned of [false, true]) if (compare(name, self, given, isTurned)) count++;
      }
    }
    expect(count).toBeGreaterThan(0);
  });
});
