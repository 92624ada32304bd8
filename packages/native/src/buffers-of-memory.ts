import { markAsUntransferable } from '#platform/libtorch';
import type { Tensor } from './tensor.js';

/** From Node.js 21 on. These versions also cannot detach a buffer that is marked as untransferable. */
const canSeeTransfers = 'detached' in ArrayBuffer.prototype;

/** The buffers of the memory of tensors. */
const ofMemory = new WeakSet<ArrayBufferLike>();
/** Tensors whose memory another buffer has. */
const lost = new Set<Tensor>();

/**
 * Notes a buffer over the memory of a tensor. A thread that got it would use the memory after its end.
 * Node.js 20 has to be told so. Later versions never give memory of an addon to another thread.
 */
export function noteBuffer(buffer: ArrayBuffer): void {
  ofMemory.add(buffer);
  if (!canSeeTransfers) markAsUntransferable(buffer);
}

/** Keeps a buffer in this thread while others read it. */
export function keepInThread(buffer: ArrayBufferLike): void {
  if (!canSeeTransfers || !ofMemory.has(buffer)) markAsUntransferable(buffer);
}

/**
 * Whether `transfer()` has given the memory to another buffer. The tensor then lives as long as this
 * process.
 */
export function isTransferred(buffer: ArrayBuffer, tensor: Tensor): boolean {
  const isGone = canSeeTransfers && (buffer as { readonly detached?: boolean }).detached === true;
  if (isGone) lost.add(tensor);
  return isGone;
}
