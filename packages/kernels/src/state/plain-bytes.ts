import type { NativeDtype, TensorBytes, UnfilledTensor } from '@acc/contract';

/** Bytes that need no disposal. */
export function plainBytes(bytes: Uint8Array): TensorBytes {
  return { bytes, dispose() {}, [Symbol.dispose]() {} };
}

/** The bytes of a typed array. */
export function bytesUnder({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A tensor whose elements are filled through `bytes`. */
export function unfilled(
  dtype: NativeDtype,
  shape: readonly number[],
  bytes: Uint8Array,
  { toTensor, dispose }: Pick<UnfilledTensor, 'toTensor' | 'dispose'>,
): UnfilledTensor {
  return { dtype, shape, bytes, toTensor, dispose, [Symbol.dispose]: dispose };
}
