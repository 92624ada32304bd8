import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { operator, operatorWithResults } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// The operators of cpp/engine/kernels/max_pool/operator.cpp: where the channels of an image lie next to each other they are code of this
// addon, elsewhere libtorch's operators.

const maxPool = operatorWithResults('acc::max_pool');
const maxPoolBackward = operator('acc::max_pool_backward');
const permute = operator('aten::permute');
const contiguous = operator('aten::contiguous');
const toDtype = operator('aten::to.dtype');

const ROW_MAJOR = 0;

interface Axis {
  readonly size: number;
  readonly window: number;
  readonly stride: number;
  readonly padding: number;
}

interface Case {
  readonly batch: number;
  readonly channels: number;
  readonly axes: readonly Axis[];
  readonly ceil: boolean;
  readonly dtype: 'float32' | 'bfloat16';
}

const axis: fc.Arbitrary<Axis> = fc
  .record({
    size: fc.integer({ min: 4, max: 9 }),
    window: fc.integer({ min: 1, max: 4 }),
    stride: fc.integer({ min: 1, max: 5 }),
    half: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ size, window, stride, half }) => ({ size, window, stride, padding: Math.min(half, window >> 1) }));

const cases: fc.Arbitrary<Case> = fc.record({
  batch: fc.integer({ min: 1, max: 2 }),
  channels: fc.integer({ min: 2, max: 40 }),
  axes: fc.array(axis, { minLength: 2, maxLength: 2 }),
  ceil: fc.boolean(),
  dtype: fc.constantFrom('float32', 'bfloat16'),
});

/**
 * Images whose channels lie next to each other. Whole numbers from -4 to 4: windows have equal
 * maxima, and sums are exact in bfloat16.
 */
function channelsLast(shape: readonly number[], dtype: Case['dtype']): Tensor {
  const [N, C, H, W] = shape as [number, number, number, number];
  const values = Float32Array.from({ length: N * C * H * W }, (_, i) =>
    Math.round(4 * Math.sin(7.3 * i + C)),
  );
  using rows = tensorFrom(values, 'float32', [N, H, W, C]);
  using typed = toDtype(rows, dtype, false, false);
  return permute(typed, [0, 3, 1, 2]);
}

/** The maxima, their indices and a gradient of images in a layout. */
function poolingOf({ batch, channels, axes, ceil, dtype }: Case, isRowMajor: boolean): unknown[][] {
  const inLayout = (x: Tensor): Tensor => {
    using held = x;
    return isRowMajor ? contiguous(held, ROW_MAJOR) : permute(held, [0, 1, 2, 3]);
  };
  using x = inLayout(channelsLast([batch, channels, ...axes.map(({ size }) => size)], dtype));
  const windows = (['window', 'stride', 'padding'] as const).map((name) => axes.map((one) => one[name]));
  const [values, indices] = maxPool(x, ...windows, ceil) as [Tensor, Tensor];
  using dy = inLayout(channelsLast(values.shape, dtype));
  const gradient = maxPoolBackward(dy, x, ...windows, ceil, indices);
  return [values, indices, gradient].map((tensor) => {
    using held = tensor;
    return Array.from(held.read(held === indices ? 'int64' : 'float64') as ArrayLike<unknown>);
  });
}

it('pools images whose channels lie next to each other as libtorch pools others', () => {
  fc.assert(
    fc.property(cases, (of) => {
      expect(poolingOf(of, false)).toEqual(poolingOf(of, true));
    }),
    { numRuns: 300 },
  );
});
