import { AccError } from '@acc/contract';
import type { NumberArray } from './plain-values.js';

/** Recognizes shaped arrays, also those of another copy of this module. */
const SHAPED = Symbol.for('acc.shapedArray');

/** Numbers with a shape, in row-major order: a sample that becomes a tensor `[rows, …shape]`. */
export interface ShapedArray {
  readonly data: NumberArray;
  readonly shape: readonly number[];
}

/**
 * Gives a typed array a shape, for samples such as images: `shaped(pixels, [height, width, 3])`.
 * Unlike a tensor it needs no disposal, and worker threads can create it.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` if the shape has another number of elements.
 */
export function shaped(data: NumberArray, shape: readonly number[]): ShapedArray {
  const size = sizeOf(shape);
  if (size !== data.length) {
    throw new AccError(
      'ACC_INVALID_ARGUMENT',
      `shaped: an array of ${data.length} numbers cannot have the shape [${shape.join(', ')}].`,
      { details: { length: data.length, shape } },
    );
  }
  return { data, shape, [SHAPED]: true } as ShapedArray;
}

/** The number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, dim) => product * dim, 1);
}

export function isShaped(value: unknown): value is ShapedArray {
  return typeof value === 'object' && value !== null && SHAPED in value;
}
