/** A reason for which a training loop waits between its steps: a batch of its data, or a save. */
export type Wait = 'loader' | 'saves';

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

/** Tells the observers of a wait that has just ended. */
export function noteWait(wait: Wait, start: number): void {
  if (observers.size === 0) return;
  const ms = performance.now() - start;
  for (const observer of observers) observer(wait, start, ms);
}
