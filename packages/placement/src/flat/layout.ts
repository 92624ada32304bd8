import type { MemoryRange } from '@acc/contract';

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
