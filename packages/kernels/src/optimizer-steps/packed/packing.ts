import type { Variable } from '@tensorflow/tfjs-core';
import { listedFor } from '../../live-variables.js';

/** The bits of an element of an optimizer's state. */
export type StateBits = 32 | 8 | 4;

/** Variables with fewer elements keep float32 state. */
export const LEAST_PACKED = 4096;

/**
 * How a moment is packed: an int32 tensor `[blocks, words]`. A row has the codes of one block, and in
 * its last word the bits of the block's scale, a float: the largest magnitude. Of two codes in a byte, the
 * first is in the upper 4 bits.
 */
export interface Packing {
  readonly bits: 8 | 4;
  /** Elements of a block. Blocks begin at the first element of a variable, row-major. */
  readonly block: number;
  readonly words: number;
  /** The values of codes, ascending, in units of the scale. */
  readonly values: Float32Array;
}

export const LARGEST_BLOCK = 256;

/**
 * Shards of a variable of so many elements begin at multiples of it, so that blocks of packed state are
 * whole.
 */
export function stateAlignment(elements: number): number {
  return elements >= LEAST_PACKED ? LARGEST_BLOCK : 1;
}

/** A variable of which ranks have shards counts by its whole size. */
export function mayPack(variable: Variable): boolean {
  return listedFor(variable).size >= LEAST_PACKED;
}

/** The shape of a packed moment of `size` elements. */
export function packedShape(size: number, { block, words }: Packing): [number, number] {
  return [Math.ceil(size / block), words];
}
