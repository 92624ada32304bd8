import * as fc from 'fast-check';
import { tensor, type Tensor } from '@tensorflow/tfjs-core';

export type RealDtype = 'float32' | 'int32' | 'bool';

const SPECIAL = [NaN, Infinity, -Infinity, 0, -0];

/** Floats in [-limit, limit], and special values: NaN, infinities and zeros. */
export const floats = (limit = 8): fc.Arbitrary<number> =>
  fc.oneof(
    { weight: 6, arbitrary: finiteFloats(limit) },
    { weight: 1, arbitrary: fc.constantFrom(...SPECIAL) },
  );

/** Floats in [-limit, limit]; each is 0 or at least 1e-3 in magnitude. */
export const finiteFloats = (limit = 8): fc.Arbitrary<number> =>
  fc
    .float({ min: Math.fround(-limit), max: Math.fround(limit), noNaN: true })
    .map((value) => (Math.abs(value) < 1e-3 ? 0 : value));

export const ints = (limit = 15): fc.Arbitrary<number> => fc.integer({ min: -limit, max: limit });

/** Values of `dtype` for an elementwise test. */
export function elements(dtype: RealDtype): fc.Arbitrary<number> {
  if (dtype === 'bool') return fc.constantFrom(0, 1);
  return dtype === 'int32' ? ints() : floats();
}

/** A description of a tensor: tests create it anew on each backend. */
export interface TensorSpec {
  readonly values: readonly number[];
  readonly shape: readonly number[];
  readonly dtype: RealDtype;
}

/** A tensor of `shape` with arbitrary values, by default those of {@link elements}. */
export function tensorOf(
  dtype: RealDtype,
  shape: readonly number[],
  values: fc.Arbitrary<number> = elements(dtype),
): fc.Arbitrary<TensorSpec> {
  const size = shape.reduce((product, length) => product * length, 1);
  return fc
    .array(values, { minLength: size, maxLength: size })
    .map((list) => ({ values: list, shape, dtype }));
}

/** The tensor, on the active backend. Caller disposes. */
export const make = ({ values, shape, dtype }: TensorSpec): Tensor => tensor([...values], [...shape], dtype);

/** Pairs of shapes that broadcast: same, scalar, row, column, both ways, empty. */
export const BROADCAST_SHAPES: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[19], [19]],
  [[2, 3], []],
  [[], [4]],
  [[2, 3], [3]],
  [
    [2, 1, 3],
    [4, 1],
  ],
  [[0], [1]],
  [[0, 3], [3]],
];
