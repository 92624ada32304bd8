import type { PendingValue } from './pending-value.js';

/** Values that wait to be computed, oldest first. */
const pending = new Set<PendingValue>();
let suspensions = 0;

/** The most values that wait at the same time. */
const MAX_COUNT = 4096;

/** The least number of elements for which a pass over memory takes longer than planning it. */
const MIN_ELEMENTS = 2 ** 15;
let minElements = MIN_ELEMENTS;

export function notePending(value: PendingValue): void {
  pending.add(value);
}

export function forgetPending(value: PendingValue): void {
  pending.delete(value);
}

/** Whether the result of an operator may wait. */
export const mayWait = (size: number): boolean =>
  size >= minElements && suspensions === 0 && pending.size < MAX_COUNT;

/** Computes all values that are still used. */
export function computePending(): void {
  // The latest first: what only they use needs no memory of its own.
  for (const value of [...pending].reverse()) if (pending.has(value)) value.compute();
}

/** Computes what waits, and runs `action` without results that wait. */
export function withoutPending<T>(action: () => T): T {
  computePending();
  suspensions++;
  try {
    return action();
  } finally {
    suspensions--;
  }
}

/** For tests: results of at least `elements` elements wait. Returns a function that undoes it. */
export function setMinElements(elements: number): () => void {
  const before = minElements;
  minElements = elements;
  return () => (minElements = before);
}

/** For tests: the number of values that wait. */
export const pendingCount = (): number => pending.size;
