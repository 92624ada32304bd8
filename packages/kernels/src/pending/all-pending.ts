import type { Tensor as NativeTensor } from '@acc/native';

/** A tensor that a pending value reads. The value owns the handle. */
export interface Leaf {
  readonly native: NativeTensor;
  /** The handle of which `native` is an alias. Leaves with the same handle are read once. */
  readonly source: number;
}

/** A value as the list of those that wait knows it. */
interface Waiting {
  readonly byteLength: number;
  readonly leaves: readonly Leaf[];
  /** Whether a tensor waits for it. */
  readonly hasData: boolean;
  compute(): unknown;
}

/** Values that wait to be computed, oldest first. */
const pending = new Set<Waiting>();
let suspensions = 0;

/** The most values that wait at the same time. */
const MAX_COUNT = 4096;

/**
 * How many bytes of operands may be alive in addition to as many bytes as the values that wait have:
 * the most memory that waiting costs.
 */
const MAX_KEPT_BYTES = 64 * 2 ** 20;
let maxKeptBytes = MAX_KEPT_BYTES;

/** The least number of elements for which a pass over memory takes longer than planning it. */
const MIN_ELEMENTS = 2 ** 15;
let minElements = MIN_ELEMENTS;

/** By the handle of a leaf, how many values that wait hold it. */
const holders = new Map<number, number>();
/** The bytes of all leaves, each counted once, and of results that only values have. */
let leafBytes = 0;
/** The bytes of the tensors that wait. */
let waitingBytes = 0;

/** Takes note of a value that a tensor waits for. May compute it, or earlier ones. */
export function notePending(value: Waiting): void {
  pending.add(value);
  waitingBytes += value.byteLength;
  let ownBytes = 0;
  for (const { source, native } of value.leaves) {
    const count = holders.get(source) ?? 0;
    holders.set(source, count + 1);
    if (count === 0) ownBytes += native.byteLength;
  }
  leafBytes += ownBytes;
  if (ownBytes - value.byteLength > maxKeptBytes) computeOrLeave(value);
  else limitKept();
}

/** Computes the oldest values until what operands take is within the bound. */
function limitKept(): void {
  for (const oldest of pending) {
    if (leafBytes - waitingBytes <= maxKeptBytes) break;
    // Others are computed as a part of those.
    if (oldest.hasData) computeOrLeave(oldest);
  }
}

/** Computes a value. An error, as of too little memory, is left to whoever reads the value. */
function computeOrLeave(value: Waiting): void {
  try {
    value.compute();
  } catch {
    // It still waits, and reading it fails again.
  }
}

/** The tensor of a value no longer waits: it is disposed, or has the value. May compute others. */
export function noteTensorDone(value: Waiting): void {
  waitingBytes -= value.byteLength;
  limitKept();
}

/** Takes note of bytes that a value itself now holds; negative if it no longer does. */
export function noteBytes(bytes: number): void {
  leafBytes += bytes;
}

/** Takes note that a value no longer needs its leaves. */
export function forgetPending(value: Waiting): void {
  if (!pending.delete(value)) return;
  for (const { source, native } of value.leaves) releaseLeaf(source, native.byteLength);
}

function releaseLeaf(source: Leaf['source'], bytes: number): void {
  const count = holders.get(source)! - 1;
  if (count > 0) {
    holders.set(source, count);
    return;
  }
  holders.delete(source);
  leafBytes -= bytes;
}

/** Whether the result of an operator may wait. */
export const mayWait = (size: number): boolean =>
  size >= minElements && suspensions === 0 && pending.size < MAX_COUNT;

/** Computes all values that are still used. Errors are left to whoever reads the value. */
export function computePending(): void {
  for (const value of [...pending].reverse()) if (pending.has(value)) computeOrLeave(value);
}

/** Runs `action`, of which no result waits. */
export function withoutWaiting<T>(action: () => T): T {
  suspensions++;
  try {
    return action();
  } finally {
    suspensions--;
  }
}

/** For tests. Returns a function that restores the limit. */
export function setMinElements(elements: number): () => void {
  const before = minElements;
  minElements = elements;
  return () => (minElements = before);
}

/** As {@link setMinElements}, for the bytes that waiting may cost. */
export function setMaxKeptBytes(bytes: number): () => void {
  const before = maxKeptBytes;
  maxKeptBytes = bytes;
  return () => (maxKeptBytes = before);
}

export const pendingCount = (): number => pending.size;

/** The counted bytes, for tests. */
export const pendingBytes = () => ({ leafBytes, waitingBytes });
