import { tidy, transpose, type Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

export function lastDims(shape: readonly number[], dims: number): number[] {
  return shape.slice(shape.length - dims);
}

/**
 * Converts `axis` to non-negative dims.
 *
 * @throws AccError `ACC_AXIS_OUT_OF_RANGE`.
 */
export function normalizedDims(where: string, x: Tensor, axis: number | readonly number[]): number[] {
  const given: readonly number[] = typeof axis === 'number' ? [axis] : axis;
  const dims = given.map((dim) => (dim < 0 ? dim + x.rank : dim));
  const isFine = dims.every(
    (dim, i) => Number.isInteger(dim) && dim >= 0 && dim < x.rank && dims.indexOf(dim) === i,
  );
  if (isFine && dims.length > 0) return dims;
  throw new AccError(
    'ACC_AXIS_OUT_OF_RANGE',
    `${where}: axis is ${JSON.stringify(axis)}, but the tensor has rank ${x.rank}.`,
    {
      help: `Give whole numbers from ${-x.rank} to ${x.rank - 1}, each dim only once.`,
      details: { axis, rank: x.rank },
    },
  );
}

/**
 * Moves the dims `axes` to the end in that order, runs `compute`, which works over the last dims,
 * and moves them back.
 */
export function overLastDims(x: Tensor, axes: readonly number[], compute: (x: Tensor) => Tensor): Tensor {
  const first = x.rank - axes.length;
  if (axes.every((dim, i) => dim === first + i)) return compute(x);
  const others = Array.from({ length: x.rank }, (_, dim) => dim).filter((dim) => !axes.includes(dim));
  const order = [...others, ...axes];
  const back = order.map((_, dim) => order.indexOf(dim));
  return tidy(() => transpose(compute(transpose(x, order)), back));
}
