import { elementsOf } from './dtypes.js';

/** A box of a whole tensor: the first index and the size for each dim. */
export interface Box {
  readonly offset: readonly number[];
  readonly sizes: readonly number[];
}

/**
 * Consecutive elements that two boxes share. Both boxes are row-major; `from` and `to` are element
 * positions in them.
 */
export interface Run {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

export function fullBox(shape: readonly number[]): Box {
  return { offset: shape.map(() => 0), sizes: shape };
}

/** The elements that two boxes share, as a box. Undefined if they share none. */
export function intersection(a: Box, b: Box): Box | undefined {
  const offset = a.offset.map((first, dim) => Math.max(first, b.offset[dim]!));
  const sizes = offset.map((first, dim) => {
    const end = (box: Box) => box.offset[dim]! + box.sizes[dim]!;
    return Math.min(end(a), end(b)) - first;
  });
  return sizes.every((size) => size > 0) ? { offset, sizes } : undefined;
}

/** Yields the elements that two boxes share as runs of maximal length, ascending in both boxes. */
export function* sharedRuns(from: Box, to: Box): Generator<Run, void, undefined> {
  const shared = intersection(from, to);
  if (!shared) return;
  const [fromStrides, toStrides] = [stridesOf(from.sizes), stridesOf(to.sizes)];
  // A run may span several trailing dims. It extends over one more dim as long as all dims after it
  // are whole in both boxes.
  let dim = shared.sizes.length;
  let length = 1;
  while (dim > 0) {
    dim--;
    length *= shared.sizes[dim]!;
    const isWhole = shared.sizes[dim] === from.sizes[dim] && shared.sizes[dim] === to.sizes[dim];
    if (!isWhole) break;
  }
  const place = (box: Box, strides: readonly number[], index: readonly number[]): number =>
    shared.offset.reduce(
      (sum, first, d) => sum + (first - box.offset[d]! + (index[d] ?? 0)) * strides[d]!,
      0,
    );
  const index = new Array<number>(dim).fill(0);
  const rows = elementsOf(shared.sizes.slice(0, dim));
  for (let row = 0; row < rows; row++) {
    yield { from: place(from, fromStrides, index), to: place(to, toStrides, index), length };
    for (let d = dim - 1; d >= 0; d--) {
      index[d]!++;
      if (index[d]! < shared.sizes[d]!) break;
      index[d] = 0;
    }
  }
}

function stridesOf(sizes: readonly number[]): number[] {
  const strides = new Array<number>(sizes.length).fill(1);
  for (let dim = sizes.length - 2; dim >= 0; dim--) strides[dim] = strides[dim + 1]! * sizes[dim + 1]!;
  return strides;
}
