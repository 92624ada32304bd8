import { util } from '@tensorflow/tfjs-core';
import type { MemoryRange, TensorShard } from '@acc/contract';

/** Elements: 64 bytes of float32, one cache line. */
const ALIGNMENT = 16;

/**
 * Where the variables of a unit lie in its flat buffer. Each begins at an aligned place. The buffer
 * is cut into equal chunks, one for each rank; the end is filled with zeros.
 */
export interface UnitLayout {
  /** The first element of each variable. */
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
  /** The number of zeros between the end of each variable and the next one, or the end. */
  readonly gaps: readonly number[];
  /** The number of elements of a rank. */
  readonly chunk: number;
}

/** The bytes of an element. */
export const FLOAT_BYTES = 4;

/** Elements `begin` to `end` of a variable, row-major; empty if they are equal. */
export type Range = MemoryRange;

/** @param alignment Variables and chunks begin at multiples of it. */
export function layoutOf(sizes: readonly number[], ranks: number, alignment = ALIGNMENT): UnitLayout {
  const aligned = (length: number) => Math.ceil(length / alignment) * alignment;
  const offsets: number[] = [];
  let length = 0;
  for (const size of sizes) {
    offsets.push(length);
    length += aligned(size);
  }
  const chunk = aligned(Math.ceil(length / ranks));
  const ends = [...offsets.slice(1), chunk * ranks];
  return { offsets, sizes, gaps: sizes.map((size, i) => ends[i]! - offsets[i]! - size), chunk };
}

/** The elements of the variable at `place` that lie in the chunk of `rank`. */
export function rangeOf({ offsets, sizes, chunk }: UnitLayout, place: number, rank: number): Range {
  const within = (position: number) => Math.min(Math.max(position - offsets[place]!, 0), sizes[place]!);
  return { begin: within(rank * chunk), end: within((rank + 1) * chunk) };
}

/**
 * The boxes that elements of a row-major tensor form: the rest of a row, whole rows, the beginning
 * of a row, in each dim.
 */
export function boxesOf(shape: readonly number[], { begin, end }: Range): TensorShard[] {
  if (begin === end) return [{ shape, offset: shape.map(() => 0), sizes: shape.map(() => 0), start: 0 }];
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
