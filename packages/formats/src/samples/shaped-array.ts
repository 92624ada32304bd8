import { AccError } from '@acc/contract';

export type NumberArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array;

/** Recognizes shaped arrays, also those of another copy of this module. */
const SHAPED = Symbol.for('acc.shapedArray');

const WRITER = Symbol.for('acc.shapedArray.writer');

/** Writes elements where they are needed, in place of an array of their own. */
export interface ElementWriter {
  readonly dtype: 'float32' | 'int32';
  write(block: Float32Array | Int32Array, offset: number): void;
}

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
      {
        help: `Give a shape of ${data.length} elements in all.`,
        details: { length: data.length, shape },
      },
    );
  }
  return { data, shape, [SHAPED]: true } as ShapedArray;
}

/**
 * A shaped array whose elements are made when they are needed: once, in the memory of the batch, or
 * in memory of their own when somebody reads `data`.
 */
export function shapedLater(shape: readonly number[], writer: ElementWriter): ShapedArray {
  let data: NumberArray | undefined;
  const created = () => {
    const elements = sizeOf(shape);
    const block = writer.dtype === 'float32' ? new Float32Array(elements) : new Int32Array(elements);
    writer.write(block, 0);
    return block;
  };
  return {
    get data() {
      return (data ??= created());
    },
    shape,
    [SHAPED]: true,
    [WRITER]: writer,
  } as ShapedArray;
}

/** How the elements of a shaped array are written. Undefined: they are in `data`. */
export function writerOf(array: ShapedArray): ElementWriter | undefined {
  return (array as { [WRITER]?: ElementWriter })[WRITER];
}

/** The number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, dim) => product * dim, 1);
}

export function isShaped(value: unknown): value is ShapedArray {
  return typeof value === 'object' && value !== null && SHAPED in value;
}
