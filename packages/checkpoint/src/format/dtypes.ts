import { AccError, type NativeDtype, type StateArray } from '@acc/contract';

/** Bytes per element, by the name of the element type in safetensors. */
const ELEMENT_BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
  C64: 8,
} as const;

export type StoredDtype = keyof typeof ELEMENT_BYTES;

export const STORED_DTYPES = Object.keys(ELEMENT_BYTES) as StoredDtype[];

export function elementBytes(dtype: StoredDtype): number {
  return ELEMENT_BYTES[dtype];
}

export function isStoredDtype(name: string): name is StoredDtype {
  return Object.hasOwn(ELEMENT_BYTES, name);
}

export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((count, length) => count * length, 1);
}

/** The most dims of a tensor. libtorch has the same limit. */
const MAX_RANK = 64;

/**
 * Whether the bytes of a tensor of this shape can be counted exactly. Dims of length 0 count as 1,
 * so that the strides can, too.
 */
export function isCountable(shape: readonly number[], dtype: StoredDtype): boolean {
  const extent = shape.reduce((count, length) => count * Math.max(length, 1), ELEMENT_BYTES[dtype]);
  return shape.length <= MAX_RANK && Number.isSafeInteger(extent);
}

const STORED: Readonly<Record<NativeDtype, StoredDtype>> = {
  float64: 'F64',
  float32: 'F32',
  float16: 'F16',
  bfloat16: 'BF16',
  int64: 'I64',
  int32: 'I32',
  int16: 'I16',
  int8: 'I8',
  uint8: 'U8',
  bool: 'BOOL',
  complex64: 'C64',
};

const NATIVE = new Map(Object.entries(STORED).map(([native, stored]) => [stored, native as NativeDtype]));

export function storedDtypeOf(dtype: NativeDtype): StoredDtype {
  return STORED[dtype];
}

/** @throws AccError `ACC_DTYPE_UNSUPPORTED` for element types that tensors do not have here. */
export function nativeDtypeOf(dtype: StoredDtype, name: string): NativeDtype {
  const native = NATIVE.get(dtype);
  if (native) return native;
  throw new AccError(
    'ACC_DTYPE_UNSUPPORTED',
    `'${name}' has elements of type ${dtype}, which tensors cannot have here.`,
    {
      help: `Supported types are: ${[...NATIVE.keys()].join(', ')}.`,
      details: { name, dtype },
    },
  );
}

const ARRAYS = {
  Int8Array: { array: Int8Array, dtype: 'I8' },
  Uint8Array: { array: Uint8Array, dtype: 'U8' },
  Uint8ClampedArray: { array: Uint8ClampedArray, dtype: 'U8' },
  Int16Array: { array: Int16Array, dtype: 'I16' },
  Uint16Array: { array: Uint16Array, dtype: 'U16' },
  Int32Array: { array: Int32Array, dtype: 'I32' },
  Uint32Array: { array: Uint32Array, dtype: 'U32' },
  Float32Array: { array: Float32Array, dtype: 'F32' },
  Float64Array: { array: Float64Array, dtype: 'F64' },
  BigInt64Array: { array: BigInt64Array, dtype: 'I64' },
  BigUint64Array: { array: BigUint64Array, dtype: 'U64' },
} as const;

export type ArrayName = keyof typeof ARRAYS;

export const ARRAY_NAMES = Object.keys(ARRAYS) as ArrayName[];

/**
 * The name of a typed array's class, also if the array comes from another realm. Undefined for
 * values that a checkpoint cannot hold.
 */
export function arrayNameOf(value: object): ArrayName | undefined {
  const name = ArrayBuffer.isView(value) ? value[Symbol.toStringTag as never] : undefined;
  // A Node.js Buffer gives `Uint8Array` here.
  return ARRAY_NAMES.find((known) => known === name);
}

export function dtypeOfArray(name: ArrayName): StoredDtype {
  return ARRAYS[name].dtype;
}

/** A typed array over `bytes`, which must begin at the start of their buffer. */
export function arrayOver(name: ArrayName, bytes: Uint8Array<ArrayBuffer>): StateArray {
  return new ARRAYS[name].array(bytes.buffer);
}
