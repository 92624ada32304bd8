import { util } from '@tensorflow/tfjs-core';
import type { RowsAt, TensorShard } from '@acc/contract';

/** The rows of a tensor that a rank has. */
export interface OwnRows {
  /** The shape of the whole tensor. */
  readonly shape: readonly number[];
  readonly at: RowsAt;
  readonly index: number;
  readonly count: number;
}

/**
 * Gives boxes of a rank's rows their places in the whole tensor. A box that lies in several
 * repetitions becomes one box for each of them.
 */
export function boxesInWhole(boxes: readonly TensorShard[], rows: OwnRows): TensorShard[] {
  return boxes.flatMap((box) => partsOf(box, rows).map((part) => inWhole(part, rows)));
}

/** The box of a tensor that has all of its elements. */
export function wholeBox(shape: readonly number[]): TensorShard {
  return { shape, offset: shape.map(() => 0), sizes: shape, start: 0 };
}

/** The parts of a box that lie in one repetition each. */
function partsOf(box: TensorShard, { shape, at: { dim, times }, count }: OwnRows): TensorShard[] {
  const length = shape[dim]! / times / count;
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

function inWhole(box: TensorShard, { shape, at: { dim, times }, index, count }: OwnRows): TensorShard {
  const length = shape[dim]! / times / count;
  const repetition = Math.floor(box.offset[dim]! / length);
  const shift = repetition * length * (count - 1) + index * length;
  const isEmpty = box.sizes.includes(0);
  const offset = isEmpty
    ? shape.map(() => 0)
    : box.offset.map((begin, i) => (i === dim ? begin + shift : begin));
  return { ...box, shape, offset };
}
