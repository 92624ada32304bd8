import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { ShardLayout } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { PlanCache } from './plan-cache.js';
import type { CallAttrs, CallInputs } from './signature.js';

const ROWS: ShardLayout = { kind: 'rows', outer: 4, length: 2 };
const SUM: ShardLayout = { kind: 'sum', scale: 1 };

const layouts = new WeakMap<object, ShardLayout>();

function tensor(shape: number[], layout?: ShardLayout): TensorInfo {
  const dataId = {};
  if (layout) layouts.set(dataId, layout);
  return { dataId, shape, dtype: 'float32' };
}

/** Plans that are numbered in the order of decisions. */
function numberedPlans() {
  let count = 0;
  const plans = new PlanCache({ layoutOf: ({ dataId }) => layouts.get(dataId) }, () => ++count);
  return (inputs: CallInputs, attrs: CallAttrs = {}) => plans.of(inputs, attrs);
}

describe('known plans', () => {
  it('decides once for calls with the same shapes, layouts and attributes', () => {
    const plan = numberedPlans();
    const attrs = () => ({ perm: [0, 2, 1], keepDims: false, dtype: 'int32', last: undefined });
    expect(plan({ a: tensor([4, 8], ROWS), b: tensor([8]) }, attrs())).toBe(1);
    expect(plan({ a: tensor([4, 8], ROWS), b: tensor([8]) }, attrs())).toBe(1);
    expect(plan([tensor([4], SUM)] as never)).toBe(2);
    expect(plan([tensor([4], SUM)] as never)).toBe(2);
  });

  it.each<[string, CallInputs, CallAttrs]>([
    ['another shape', { a: tensor([8, 4], ROWS), b: tensor([8]) }, { axis: [0, 1] }],
    ['another layout', { a: tensor([4, 8], SUM), b: tensor([8]) }, { axis: [0, 1] }],
    ['a whole tensor', { a: tensor([4, 8]), b: tensor([8]) }, { axis: [0, 1] }],
    ['another place', { b: tensor([4, 8], ROWS), a: tensor([8]) }, { axis: [0, 1] }],
    ['a missing input', { a: tensor([4, 8], ROWS), b: null }, { axis: [0, 1] }],
    ['one more input', { a: tensor([4, 8], ROWS), b: tensor([8]), c: tensor([]) }, { axis: [0, 1] }],
    ['another attribute', { a: tensor([4, 8], ROWS), b: tensor([8]) }, { axis: [0, 2] }],
    ['a longer attribute', { a: tensor([4, 8], ROWS), b: tensor([8]) }, { axis: [0, 1, 0] }],
    ['one more attribute', { a: tensor([4, 8], ROWS), b: tensor([8]) }, { axis: [0, 1], name: 'x' }],
    ['no attribute', { a: tensor([4, 8], ROWS), b: tensor([8]) }, {}],
  ])('decides anew for %s', (_, inputs, attrs) => {
    const plan = numberedPlans();
    expect(plan({ a: tensor([4, 8], ROWS), b: tensor([8]) }, { axis: [0, 1] })).toBe(1);
    expect(plan(inputs, attrs)).toBe(2);
    expect(plan(inputs, attrs)).toBe(2);
  });

  it('remembers what a call looked like, whatever becomes of its arrays', () => {
    const plan = numberedPlans();
    const [shape, perm] = [
      [4, 8],
      [0, 1],
    ];
    expect(plan({ a: tensor(shape!, ROWS) }, { perm })).toBe(1);
    shape![0] = 2;
    perm![0] = 5;
    expect(plan({ a: tensor([4, 8], ROWS) }, { perm: [0, 1] })).toBe(1);
    expect(plan({ a: tensor([2, 8], ROWS) }, { perm: [5, 1] })).toBe(2);
  });

  it('keeps no plan for attributes that cannot be compared', () => {
    const plan = numberedPlans();
    for (const [i, attrs] of [{ place: { index: 0 } }, { places: [{}] }, { value: NaN }].entries()) {
      expect(plan({ a: tensor([4, 8], ROWS) }, attrs)).toBe(2 * i + 1);
      expect(plan({ a: tensor([4, 8], ROWS) }, attrs)).toBe(2 * i + 2);
    }
  });

  it('starts again after many signatures', () => {
    const plan = numberedPlans();
    for (let i = 1; i <= 513; i++) expect(plan({ a: tensor([i], ROWS) })).toBe(i);
    expect(plan({ a: tensor([513], ROWS) })).toBe(513);
    expect(plan({ a: tensor([1], ROWS) })).toBe(514);
  });
});
