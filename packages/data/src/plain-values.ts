import { isShaped, sizeOf } from './shaped-array.js';

/** The dtype and shape that a value other than a tensor has in a batch. */
export interface PlainKind {
  readonly dtype: 'float32' | 'int32' | 'bool' | 'string';
  readonly shape: readonly number[];
}

export type PlainBlock = Float32Array | Int32Array | Uint8Array | string[];

const PRIMITIVES = { number: 'float32', boolean: 'bool', string: 'string' } as const;

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

/**
 * The kind of a number, boolean, string, typed array, or rectangular nested array of numbers,
 * booleans or strings. Undefined for all other values. Arrays of typed arrays are tuples and also
 * yield undefined.
 */
export function plainKind(value: unknown): PlainKind | undefined {
  const dtype = primitiveDtype(value);
  if (dtype) return { dtype, shape: [] };
  if (isNumberArray(value)) {
    return { dtype: isFloatArray(value) ? 'float32' : 'int32', shape: [value.length] };
  }
  if (isShaped(value)) return { ...plainKind(value.data)!, shape: value.shape };
  return Array.isArray(value) ? arrayKind(value) : undefined;
}

function arrayKind(items: readonly unknown[]): PlainKind | undefined {
  const [first] = items;
  if (items.length === 0) return { dtype: 'float32', shape: [0] };
  const dtype = primitiveDtype(first);
  if (dtype) {
    const type = typeof first;
    return items.every((item) => typeof item === type) ? { dtype, shape: [items.length] } : undefined;
  }
  const kinds = items.map((item) => (Array.isArray(item) ? arrayKind(item) : undefined));
  const kind = kinds[0];
  if (!kind || !kinds.every((other) => other && sameKind(other, kind))) return undefined;
  return { dtype: kind.dtype, shape: [items.length, ...kind.shape] };
}

export function sameKind(a: PlainKind, b: PlainKind): boolean {
  return (
    a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((dim, i) => dim === b.shape[i])
  );
}

/** Concatenates values of one kind in row-major order. */
export function packPlain(values: readonly unknown[], kind: PlainKind): PlainBlock {
  if (kind.dtype === 'string') return values.flat(kind.shape.length) as string[];
  const block = emptyBlock(kind.dtype, sizeOf(kind.shape) * values.length);
  packInto(block, values, kind);
  return block;
}

/** Like {@link packPlain}, into memory that is there. Not for strings. */
export function packInto(
  block: Float32Array | Int32Array | Uint8Array,
  values: readonly unknown[],
  kind: PlainKind,
): void {
  const size = sizeOf(kind.shape);
  values.forEach((value, i) => {
    if (isShaped(value)) block.set(value.data, i * size);
    else fillBlock(block, i * size, value, kind.shape);
  });
}

function emptyBlock(dtype: 'float32' | 'int32' | 'bool', size: number) {
  if (dtype === 'float32') return new Float32Array(size);
  return dtype === 'int32' ? new Int32Array(size) : new Uint8Array(size);
}

function fillBlock(
  block: Float32Array | Int32Array | Uint8Array,
  offset: number,
  value: unknown,
  shape: readonly number[],
): void {
  if (shape.length === 0) {
    block[offset] = Number(value);
  } else if (shape.length === 1) {
    block.set(value as ArrayLike<number>, offset);
  } else {
    const [, ...rest] = shape;
    const stride = sizeOf(rest);
    (value as unknown[]).forEach((item, i) => fillBlock(block, offset + i * stride, item, rest));
  }
}

export function isNumberArray(value: unknown): value is NumberArray {
  return (
    ArrayBuffer.isView(value) &&
    !(value instanceof DataView) &&
    !(value instanceof BigInt64Array) &&
    !(value instanceof BigUint64Array)
  );
}

function isFloatArray(value: NumberArray): boolean {
  return value instanceof Float32Array || value instanceof Float64Array;
}

function primitiveDtype(value: unknown): PlainKind['dtype'] | undefined {
  return PRIMITIVES[typeof value as keyof typeof PRIMITIVES] as PlainKind['dtype'] | undefined;
}
