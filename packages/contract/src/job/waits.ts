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

/** The time for {@link noteWait} at which a wait begins. The clock is not read if nobody observes waits. */
export function waitStart(): number {
  return observers.size === 0 ? NaN : performance.now();
}

/** Tells the observers of a wait that has just ended. One with an unknown start is not told. */
export function noteWait(wait: Wait, start: number): void {
  if (observers.size === 0 || Number.isNaN(start)) return;
  const ms = performance.now() - start;
  for (const observer of observers) observer(wait, start, ms);
}
