import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import type { RowsAt } from '@acc/contract';
import { expectClose } from '@acc/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  LINEAR_RULES,
  RULES,
  ShardedCall,
  type InputState,
  type Plan,
  type Result,
  type ShardedInput,
} from './index.js';

beforeAll(() => void tf.setBackend('cpu'));

interface Input {
  readonly shape: readonly number[];
  /** Default: whole. */
  readonly state?: InputState;
  readonly values?: readonly number[];
  readonly dtype?: 'float32' | 'int32' | 'bool';
}

interface Case {
  readonly kernel: string;
  readonly inputs: Readonly<Record<string, Input>>;
  readonly attrs?: Readonly<Record<string, unknown>>;
}

const inRows = (dim: number, times = 1): { state: InputState } => ({
  state: { kind: 'rows', at: { dim, times } },
});
const summed = (scale = 1): { state: InputState } => ({ state: { kind: 'sum', scale } });

/** Values that no symmetry can hide. They are positive, for powers and quotients. */
function tensorOf({ shape, values, dtype = 'float32' }: Input, seed: number): tf.Tensor {
  const size = tf.util.sizeFromShape([...shape]);
  const created = values ?? Array.from({ length: size }, (_, i) => 1.5 + Math.sin(1 + seed + 2.7 * i));
  return tf.tensor([...created], [...shape], dtype);
}

/** The shards of rows: an equal part of each repetition of the rows. */
function cut(x: tf.Tensor, { dim, times }: RowsAt, shards: number): tf.Tensor[] {
  const repetitions = tf.split(x, times, dim).map((each) => tf.split(each, shards, dim));
  return Array.from({ length: shards }, (_, i) =>
    tf.concat(
      repetitions.map((parts) => parts[i]!),
      dim,
    ),
  );
}

function joined(parts: readonly tf.Tensor[], { dim, times }: RowsAt): tf.Tensor {
  const repetitions = parts.map((part) => tf.split(part, times, dim));
  const inOrder = Array.from({ length: times }, (_, at) => repetitions.map((all) => all[at]!));
  return tf.concat(inOrder.flat(), dim);
}

/** The shards of an input, as its state says. */
function shardsOf(x: tf.Tensor, state: InputState, shards: number): tf.Tensor[] {
  if (state.kind === 'rows') return cut(x, state.at, shards);
  if (state.kind === 'whole') return Array.from({ length: shards }, () => x);
  // Terms that differ from one another.
  const weights = Array.from({ length: shards }, (_, i) => (2 * (i + 1)) / (shards * (shards + 1)));
  return weights.map((weight) => tf.mul(x, weight / state.scale));
}

function run({ kernel, inputs, attrs = {} }: Case, given: Readonly<Record<string, tf.Tensor>>): tf.Tensor[] {
  // Concat and others take a list.
  const isList = Object.keys(inputs).every((name) => /^\d+$/.test(name));
  const named = isList ? Object.values(given) : given;
  const result = tf.engine().runKernel(kernel, named as tf.NamedTensorMap, attrs as tf.NamedAttrMap);
  return [result].flat() as tf.Tensor[];
}

/** Runs the kernel on each shard by the plan, and makes the whole results. */
function byPlan(one: Case, full: Readonly<Record<string, tf.Tensor>>, plan: Plan, shards: number) {
  const ofShards = Object.entries(full).map(([name, x]) => {
    const { state = { kind: 'whole' } } = one.inputs[name]!;
    const at = plan.cuts?.get(name);
    const parts = at ? cut(x, at, shards) : shardsOf(x, state, shards);
    const factor = plan.factors?.get(name) ?? 1;
    return [name, factor === 1 ? parts : parts.map((part) => tf.mul(part, factor))] as const;
  });
  const results = Array.from({ length: shards }, (_, i) => {
    const given = Object.fromEntries(ofShards.map(([name, parts]) => [name, parts[i]!]));
    return run({ ...one, attrs: { ...one.attrs, ...plan.attrs } }, given);
  });
  return results[0]!.map((first, at) => {
    const form = formOf(plan, at, first.shape);
    const parts = results.map((all) => all[at]!);
    if (form.kind === 'rows') return joined(parts, form.at);
    if (form.kind === 'sum') return tf.mul(tf.addN(parts), form.scale);
    for (const part of parts) expectClose(part.dataSync(), first.dataSync());
    return first;
  });
}

function formOf({ results }: Plan, at: number, shape: readonly number[]): Result {
  if (typeof results === 'function') return results(shape);
  return Array.isArray(results) ? (results as Result[])[at]! : (results as Result);
}

function planOf({ kernel, inputs, attrs = {} }: Case, shards: number): Plan | string {
  const states = Object.values(inputs).map(({ state }) => state?.kind);
  const rules = states.includes('rows') ? RULES : LINEAR_RULES;
  const seen = Object.entries(inputs).map(([name, { shape, state = { kind: 'whole' } }]) => [
    name,
    { shape, state },
  ]);
  const call = new ShardedCall(new Map(seen as [string, ShardedInput][]), attrs, shards);
  return rules.get(kernel)!(call);
}

const product = { transposeA: false, transposeB: false };
/** Sizes that two and three shards divide. */
const CASES: readonly Case[] = [
  { kernel: 'Add', inputs: { a: { shape: [6, 4], ...inRows(0) }, b: { shape: [6, 4] } } },
  { kernel: 'Multiply', inputs: { a: { shape: [2, 6, 4] }, b: { shape: [6, 1], ...inRows(0) } } },
  { kernel: 'Sub', inputs: { a: { shape: [4, 12], ...inRows(1, 2) }, b: { shape: [12] } } },
  { kernel: 'Add', inputs: { a: { shape: [6, 4], ...summed(0.5) }, b: { shape: [6, 4], ...summed(2) } } },
  { kernel: 'Sub', inputs: { a: { shape: [6, 4], ...summed(3) }, b: { shape: [4] } } },
  { kernel: 'Multiply', inputs: { a: { shape: [6, 4], ...summed(2) }, b: { shape: [4] } } },
  { kernel: 'RealDiv', inputs: { a: { shape: [6, 4], ...summed(2) }, b: { shape: [4] } } },
  { kernel: 'Softmax', inputs: { logits: { shape: [6, 4], ...inRows(0) } }, attrs: { dim: 1 } },
  { kernel: 'Sum', inputs: { x: { shape: [2, 6, 4], ...inRows(1) } }, attrs: { axis: [0], keepDims: false } },
  { kernel: 'Sum', inputs: { x: { shape: [2, 6, 4], ...inRows(1) } }, attrs: { axis: [1], keepDims: false } },
  { kernel: 'Mean', inputs: { x: { shape: [2, 6], ...inRows(1) } }, attrs: { axis: [1], keepDims: false } },
  { kernel: 'Sum', inputs: { x: { shape: [6, 4], ...summed(2) } }, attrs: { axis: [0], keepDims: false } },
  {
    kernel: 'Max',
    inputs: { x: { shape: [2, 6, 4], ...inRows(1) } },
    attrs: { reductionIndices: [0], keepDims: false },
  },
  { kernel: 'Transpose', inputs: { x: { shape: [2, 6, 4], ...inRows(1) } }, attrs: { perm: [1, 2, 0] } },
  { kernel: 'Transpose', inputs: { x: { shape: [2, 12], ...inRows(1, 2) } }, attrs: { perm: [1, 0] } },
  { kernel: 'Slice', inputs: { x: { shape: [4, 6], ...inRows(1) } }, attrs: { begin: [1, 0], size: [2, 6] } },
  {
    kernel: 'Slice',
    inputs: { x: { shape: [2, 18], ...inRows(1, 3) } },
    attrs: { begin: [0, 6], size: [2, 12] },
  },
  {
    kernel: 'Concat',
    inputs: { 0: { shape: [2, 6], ...inRows(1) }, 1: { shape: [2, 12] } },
    attrs: { axis: 1 },
  },
  {
    kernel: 'Concat',
    inputs: { 0: { shape: [2, 6], ...inRows(1) }, 1: { shape: [3, 6] } },
    attrs: { axis: 0 },
  },
  {
    kernel: 'Concat',
    inputs: { 0: { shape: [2, 6], ...summed(2) }, 1: { shape: [3, 6] } },
    attrs: { axis: 0 },
  },
  {
    kernel: 'Pack',
    inputs: { 0: { shape: [2, 6], ...inRows(1) }, 1: { shape: [2, 6] } },
    attrs: { axis: 0 },
  },
  {
    kernel: 'Pack',
    inputs: { 0: { shape: [2, 6], ...inRows(1) }, 1: { shape: [2, 6] } },
    attrs: { axis: 1 },
  },
  { kernel: 'Unpack', inputs: { value: { shape: [2, 6], ...inRows(1) } }, attrs: { axis: 0 } },
  {
    kernel: 'SplitV',
    inputs: { x: { shape: [2, 18], ...inRows(1, 3) } },
    attrs: { numOrSizeSplits: [6, 12], axis: 1 },
  },
  {
    kernel: 'SplitV',
    inputs: { x: { shape: [4, 6], ...inRows(1) } },
    attrs: { numOrSizeSplits: [1, 3], axis: 0 },
  },
  {
    kernel: 'PadV2',
    inputs: { x: { shape: [2, 6], ...inRows(1) } },
    attrs: {
      paddings: [
        [1, 2],
        [0, 0],
      ],
      constantValue: 3,
    },
  },
  { kernel: 'Tile', inputs: { x: { shape: [2, 6], ...inRows(1) } }, attrs: { reps: [3, 1] } },
  {
    kernel: 'GatherV2',
    inputs: {
      x: { shape: [5, 3] },
      indices: { shape: [6], values: [0, 4, 2, 2, 1, 3], dtype: 'int32', ...inRows(0) },
    },
    attrs: { axis: 0, batchDims: 0 },
  },
  {
    kernel: 'GatherV2',
    inputs: {
      x: { shape: [5, 6], ...inRows(1) },
      indices: { shape: [2, 2], values: [0, 4, 2, 1], dtype: 'int32' },
    },
    attrs: { axis: 0, batchDims: 0 },
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 6, 5], ...inRows(1) }, b: { shape: [1, 5, 4] } },
    attrs: product,
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 4, 5] }, b: { shape: [1, 5, 6], ...inRows(2) } },
    attrs: product,
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 4, 6], ...inRows(2) }, b: { shape: [1, 6, 3] } },
    attrs: product,
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 4, 12], ...inRows(2, 2) }, b: { shape: [1, 12, 3], ...inRows(1, 2) } },
    attrs: product,
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [6, 2, 5], ...inRows(0) }, b: { shape: [6, 3, 5] } },
    attrs: { transposeA: false, transposeB: true },
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 6, 4], ...inRows(1) }, b: { shape: [1, 6, 3] } },
    attrs: { transposeA: true, transposeB: false },
  },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 4, 5], ...summed(2) }, b: { shape: [1, 5, 3] } },
    attrs: product,
  },
  {
    kernel: '_FusedMatMul',
    inputs: { a: { shape: [1, 4, 5] }, b: { shape: [1, 5, 6], ...inRows(2) }, bias: { shape: [6] } },
    attrs: { ...product, activation: 'relu' },
  },
  {
    kernel: 'Einsum',
    inputs: { 0: { shape: [2, 6, 3], ...inRows(1) }, 1: { shape: [3, 6] } },
    attrs: { equation: 'bij,jk->bik' },
  },
  {
    kernel: 'Einsum',
    inputs: { 0: { shape: [2, 6], ...inRows(1) }, 1: { shape: [6, 3] } },
    attrs: { equation: 'ij,jk->ik' },
  },
  {
    kernel: 'UnsortedSegmentSum',
    inputs: {
      x: { shape: [6, 2], ...inRows(0) },
      segmentIds: { shape: [6], values: [0, 2, 1, 2, 0, 0], dtype: 'int32' },
    },
    attrs: { numSegments: 3 },
  },
  {
    kernel: 'Conv2D',
    inputs: { x: { shape: [6, 4, 4, 2], ...inRows(0) }, filter: { shape: [3, 3, 2, 2] } },
    attrs: { strides: 1, pad: 'same', dataFormat: 'NHWC', dilations: 1 },
  },
  {
    kernel: 'Conv2DBackpropFilter',
    inputs: { x: { shape: [6, 4, 4, 2], ...inRows(0) }, dy: { shape: [6, 4, 4, 3], ...inRows(0) } },
    attrs: { strides: 1, pad: 'same', dataFormat: 'NHWC', filterShape: [3, 3, 2, 3] },
  },
];

const nameOf = ({ kernel, inputs, attrs }: Case): string => {
  const told = Object.entries(inputs).map(([name, { shape, state }]) => {
    if (state?.kind === 'rows')
      return `${name}[${shape.join()}] in rows of dim ${state.at.dim}, ${state.at.times} times`;
    return `${name}[${shape.join()}]${state?.kind === 'sum' ? ' as a sum' : ''}`;
  });
  return `${kernel}(${told.join(', ')}) ${JSON.stringify(attrs ?? {})}`;
};

describe.each([2, 3])('by %i pieces', (shards) => {
  it.each(CASES.map((one) => [nameOf(one), one] as const))('%s equals the whole', (_, one) => {
    tf.tidy(() => {
      const plan = planOf(one, shards);
      if (typeof plan === 'string') throw new Error(`no plan: it ${plan}`);
      const full = Object.fromEntries(
        Object.entries(one.inputs).map(([name, input], i) => [name, tensorOf(input, i)]),
      );
      const expected = run(one, full);
      const actual = byPlan(one, full, plan, shards);
      expect(actual.map(({ shape }) => shape)).toEqual(expected.map(({ shape }) => shape));
      actual.forEach((x, i) =>
        expectClose(x.dataSync(), expected[i]!.dataSync(), { rtol: 1e-5, atol: 1e-5 }),
      );
    });
  });
});

/** Calls that have no plan: each shard would need the others, or a sum would have to be added up first. */
const REFUSED: readonly Case[] = [
  { kernel: 'Softmax', inputs: { logits: { shape: [6, 4], ...inRows(1) } }, attrs: { dim: -1 } },
  { kernel: 'Max', inputs: { x: { shape: [6, 4], ...inRows(0) } }, attrs: { reductionIndices: [0] } },
  { kernel: 'Add', inputs: { a: { shape: [6, 6], ...inRows(0) }, b: { shape: [6, 6], ...inRows(1) } } },
  { kernel: 'Multiply', inputs: { a: { shape: [6], ...inRows(0) }, b: { shape: [6], ...summed() } } },
  { kernel: 'Multiply', inputs: { a: { shape: [6], ...summed() }, b: { shape: [6], ...summed() } } },
  { kernel: 'Slice', inputs: { x: { shape: [6], ...inRows(0) } }, attrs: { begin: [1], size: [3] } },
  { kernel: 'Concat', inputs: { 0: { shape: [6], ...inRows(0) }, 1: { shape: [4] } }, attrs: { axis: 0 } },
  { kernel: 'Unpack', inputs: { value: { shape: [6, 2], ...inRows(0) } }, attrs: { axis: 0 } },
  { kernel: 'Cumsum', inputs: { x: { shape: [6], ...inRows(0) } }, attrs: { axis: 0 } },
  {
    kernel: 'BatchMatMul',
    inputs: { a: { shape: [1, 6, 6], ...inRows(1) }, b: { shape: [1, 6, 6], ...inRows(2) } },
    attrs: product,
  },
  {
    kernel: '_FusedMatMul',
    inputs: { a: { shape: [1, 4, 6], ...inRows(2) }, b: { shape: [1, 6, 3] }, bias: { shape: [3] } },
    attrs: product,
  },
  { kernel: 'Cast', inputs: { x: { shape: [6], ...summed() } }, attrs: { dtype: 'int32' } },
  {
    kernel: 'PadV2',
    inputs: { x: { shape: [6], ...summed() } },
    attrs: { paddings: [[1, 1]], constantValue: 1 },
  },
];

it.each(REFUSED.map((one) => [nameOf(one), one] as const))('%s has no plan', (_, one) => {
  expect(planOf(one, 2)).toEqual(expect.any(String));
});
