/**
 * A reason for which a training loop waits between its steps: a batch of its data, a save, values of tensors
 * that it reads, or a tracker that takes its figures.
 */
export type Wait = 'loader' | 'saves' | 'reads' | 'logging';

/** Called when a wait has ended. `start` is a time of `performance.now()`, `ms` how long it took. */
export type WaitObserver = (wait: Wait, start: number, ms: number) => void;

const observers = new Set<WaitObserver>();

/**
 * Calls `observer` after each wait of a loop in this process.
 *
 * @returns Removes this observer.
 */
export function observeWaits(observer: WaitObserver): () => void {
  const own: WaitObserver = (...wait) => observer(...wait);
  observers.add(own);
  return () => void observers.delete(own);
}

/** Runs `compute`, which the loop waits for, and tells the observers when it, or its promise, is done. */
export function duringWait<T>(wait: Wait, compute: () => T): T {
  if (observers.size === 0) return compute();
  const start = performance.now();
  const result = compute();
  const note = () => noteWait(wait, start);
  if (result instanceof Promise) void result.then(note, note);
  else note();
  return result;
}

/** Tells the observers of a wait that has just ended. */
export function noteWait(wait: Wait, start: number): void {
  if (observers.size === 0) return;
  const ms = performance.now() - start;
  for (const observer of observers) observer(wait, start, ms);
}
