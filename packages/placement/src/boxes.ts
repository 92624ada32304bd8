import { util } from '@tensorflow/tfjs-core';
import type { MemoryRange, RowsAt, TensorShard } from '@acc/contract';
import type { Placement } from './placement.js';

/** A tensor that the ranks along an axis share. */
export interface PlacedTensor {
  /** The shape of all elements. */
  readonly shape: readonly number[];
  readonly placement: Placement;
  /** This rank's place along the axis. */
  readonly rank: number;
  /** The number of ranks along the axis. */
  readonly ranks: number;
}

/**
 * Gives boxes of a rank's elements their places among all elements.
 *
 * @param boxes Boxes of the local tensor, in the shape that the placement gives it.
 */
export function boxesInFull(boxes: readonly TensorShard[], tensor: PlacedTensor): readonly TensorShard[] {
  const { shape, placement, rank, ranks } = tensor;
  switch (placement.kind) {
    case 'shard':
      return boxesOfRows(boxes, { shape, at: placement, rank, ranks });
    case 'flat':
      return boxes.flatMap((box) => boxesOfElements(box, shape, placement.begin));
    case 'owner':
      return placement.rank === rank ? boxes : [emptyBox(shape)];
  }
}

/** The box that has all elements of a tensor. */
export function fullBox(shape: readonly number[]): TensorShard {
  return { shape, offset: shape.map(() => 0), sizes: shape, start: 0 };
}

function emptyBox(shape: readonly number[]): TensorShard {
  const none = shape.map(() => 0);
  return { shape, offset: none, sizes: none, start: 0 };
}

/** The rows of a tensor that a rank has. */
interface Rows extends Omit<PlacedTensor, 'placement'> {
  readonly at: RowsAt;
}

/** A box that lies in several repetitions of the rows becomes one box for each of them. */
function boxesOfRows(boxes: readonly TensorShard[], rows: Rows): TensorShard[] {
  return boxes.flatMap((box) => partsOf(box, rows).map((part) => inFull(part, rows)));
}

/** The parts of a box that lie in one repetition each. */
function partsOf(box: TensorShard, { shape, at: { dim, times }, ranks }: Rows): TensorShard[] {
  const length = shape[dim]! / times / ranks;
  const first = box.offset[dim]!;
  const last = first + box.sizes[dim]! - 1;
  if (times === 1 || box.sizes.includes(0) || Math.floor(first / length) === Math.floor(last / length))
    return [box];
  const outer = util.sizeFromShape(box.sizes.slice(0, dim));
  const rest = util.sizeFromShape(box.sizes.slice(dim + 1));
  const runs = { count: outer, step: box.sizes[dim]! * rest };
  const parts: TensorShard[] = [];
  for (let from = first; from <= last;) {
    const to = Math.min((Math.floor(from / length) + 1) * length, last + 1);
    parts.push({
      ...box,
      offset: box.offset.map((begin, i) => (i === dim ? from : begin)),
      sizes: box.sizes.map((size, i) => (i === dim ? to - from : size)),
      start: box.start + (from - first) * rest,
      ...(outer > 1 && { runs }),
    });
    from = to;
  }
  return parts;
}

function inFull(box: TensorShard, { shape, at: { dim, times }, rank, ranks }: Rows): TensorShard {
  const length = shape[dim]! / times / ranks;
  const repetition = Math.floor(box.offset[dim]! / length);
  const shift = repetition * length * (ranks - 1) + rank * length;
  const isEmpty = box.sizes.includes(0);
  const offset = isEmpty
    ? shape.map(() => 0)
    : box.offset.map((begin, i) => (i === dim ? begin + shift : begin));
  return { ...box, shape, offset };
}

/** @param box A part of a vector, which begins at element `begin` of the tensor. */
function boxesOfElements(box: TensorShard, shape: readonly number[], begin: number): TensorShard[] {
  const first = begin + box.offset[0]!;
  const boxes = boxesOf(shape, { begin: first, end: first + box.sizes[0]! });
  return boxes.map((part) => ({ ...part, start: box.start + part.start }));
}

/**
 * The boxes that elements of a row-major tensor form: the rest of a row, whole rows, the beginning
 * of a row, in each dim.
 */
export function boxesOf(shape: readonly number[], { begin, end }: MemoryRange): TensorShard[] {
  if (begin === end) return [emptyBox(shape)];
  const boxes: TensorShard[] = [];
  for (let at = begin; at < end;) {
    const { offset, sizes } = largestBox(shape, at, end);
    boxes.push({ shape, offset, sizes, start: at - begin });
    at += util.sizeFromShape(sizes);
  }
  return boxes;
}

/** The largest box that begins at element `at` and is contiguous up to at most `end`. */
function largestBox(
  shape: readonly number[],
  at: number,
  end: number,
): { offset: number[]; sizes: number[] } {
  const offset: number[] = [];
  const sizes: number[] = [];
  let rest = at;
  let stride = util.sizeFromShape([...shape]);
  let isWhole = false;
  for (const length of shape) {
    stride /= length;
    const index = Math.floor(rest / stride);
    rest %= stride;
    offset.push(index);
    // Rows are whole from the first dim on in which nothing is left over and a row fits.
    const rows = rest === 0 ? Math.min(length - index, Math.floor((end - at) / stride)) : 0;
    sizes.push(isWhole ? length : Math.max(rows, 1));
    isWhole ||= rows > 0;
  }
  return { offset, sizes };
}
