import type { MemoryRange } from '@acc/contract';
import { stateAlignment } from '@acc/kernels';

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

/**
 * @param alignment Variables and chunks begin at multiples of it. Default: a cache line, and for large
 * variables also the blocks of packed optimizer state, which are then the same on any number of ranks.
 */
export function layoutOf(sizes: readonly number[], ranks: number, alignment?: number): UnitLayout {
  const alignments = sizes.map((size) => alignment ?? Math.max(ALIGNMENT, stateAlignment(size)));
  const offsets: number[] = [];
  let length = 0;
  sizes.forEach((size, i) => {
    const offset = roundedUp(length, alignments[i]!);
    offsets.push(offset);
    length = offset + size;
  });
  const chunk = roundedUp(Math.ceil(length / ranks), Math.max(...alignments));
  const ends = [...offsets.slice(1), chunk * ranks];
  return { offsets, sizes, gaps: sizes.map((size, i) => ends[i]! - offsets[i]! - size), chunk };
}

const roundedUp = (length: number, multiple: number) => Math.ceil(length / multiple) * multiple;

/** The elements of the variable at `place` that lie in the chunk of `rank`. */
export function rangeOf({ offsets, sizes, chunk }: UnitLayout, place: number, rank: number): Range {
  const within = (position: number) => Math.min(Math.max(position - offsets[place]!, 0), sizes[place]!);
  return { begin: within(rank * chunk), end: within((rank + 1) * chunk) };
}
