import { isShaped, sizeOf, writerOf, type NumberArray, type ShapedArray } from '@acc/formats';

/** The dtype and shape that a value other than a tensor has in a batch. */
export interface PlainKind {
  readonly dtype: 'float32' | 'int32' | 'bool' | 'string';
  readonly shape: readonly number[];
}

export type PlainBlock = Float32Array | Int32Array | Uint8Array | string[];

const PRIMITIVES = { number: 'float32', boolean: 'bool', string: 'string' } as const;

/**
 * The kind of a number, boolean, string, typed array, or rectangular nested array of numbers,
 * booleans or strings. Undefined for all other values. Arrays of typed arrays are tuples and also
 * yield undefined.
 */
export function plainKind(value: unknown): PlainKind | undefined {
  const dtype = primitiveDtype(value);
  if (dtype) return { dtype, shape: [] };
  if (isNumberArray(value)) return { dtype: dtypeOf(value), shape: [value.length] };
  if (isShaped(value)) return { dtype: dtypeOfShaped(value), shape: value.shape };
  return Array.isArray(value) ? arrayKind(value) : undefined;
}

/** Whether a value has this kind. Quicker than {@link plainKind} for the usual values. */
export function isOfKind(value: unknown, kind: PlainKind): boolean {
  if (isShaped(value)) return dtypeOfShaped(value) === kind.dtype && sameShape(value.shape, kind.shape);
  if (isNumberArray(value)) {
    return dtypeOf(value) === kind.dtype && kind.shape.length === 1 && kind.shape[0] === value.length;
  }
  const own = plainKind(value);
  return own !== undefined && sameKind(own, kind);
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
  return a.dtype === b.dtype && sameShape(a.shape, b.shape);
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

/**
 * Concatenates values of one kind in row-major order.
 *
 * @param memory Returns memory of at least so many bytes, all of which are written.
 */
export function packPlain(
  values: readonly unknown[],
  kind: PlainKind,
  memory = (bytes: number) => new ArrayBuffer(bytes),
): PlainBlock {
  if (kind.dtype === 'string') return values.flat(kind.shape.length) as string[];
  const elements = sizeOf(kind.shape) * values.length;
  const block = blockIn(memory(elements * (kind.dtype === 'bool' ? 1 : 4)), kind.dtype, elements);
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
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (isShaped(value)) writeShaped(value, block, i * size);
    else fillBlock(block, i * size, value, kind.shape);
  }
}

/** The elements of a tensor, at the start of some memory. */
export function blockIn(memory: ArrayBuffer, dtype: PlainKind['dtype'], elements: number) {
  if (dtype === 'float32') return new Float32Array(memory, 0, elements);
  return new (dtype === 'int32' ? Int32Array : Uint8Array)(memory, 0, elements);
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

function writeShaped(
  value: ShapedArray,
  block: Float32Array | Int32Array | Uint8Array,
  offset: number,
): void {
  const writer = writerOf(value);
  if (writer) writer.write(block as Float32Array | Int32Array, offset);
  else block.set(value.data, offset);
}

function dtypeOfShaped(value: ShapedArray): 'float32' | 'int32' {
  return writerOf(value)?.dtype ?? dtypeOf(value.data);
}

function dtypeOf(value: NumberArray): 'float32' | 'int32' {
  return value instanceof Float32Array || value instanceof Float64Array ? 'float32' : 'int32';
}

function primitiveDtype(value: unknown): PlainKind['dtype'] | undefined {
  return PRIMITIVES[typeof value as keyof typeof PRIMITIVES] as PlainKind['dtype'] | undefined;
}
