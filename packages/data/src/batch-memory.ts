import { backend } from '@tensorflow/tfjs-core';

/** A larger batch gets memory of its own. */
const KEPT_BYTES = 64 * 1024 * 1024;
let kept = new ArrayBuffer(0);

/**
 * Memory for the values of one tensor, with any content: at least so many bytes, and the caller's
 * until the next call. If the backend states by `copiesValues` that it copies the values of a new
 * tensor at once, the same memory is used for the next one: new memory costs more time than what is
 * written to it.
 */
export function batchMemory(bytes: number): ArrayBuffer {
  const { copiesValues } = backend() as { readonly copiesValues?: unknown };
  if (bytes > KEPT_BYTES || copiesValues !== true) return new ArrayBuffer(bytes);
  if (kept.byteLength < bytes) kept = new ArrayBuffer(bytes);
  return kept;
}
