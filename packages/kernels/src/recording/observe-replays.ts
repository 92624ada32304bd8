import type { ReplayedCall } from '@acc/native';
import type { Flops } from '../flops/operator-flops.js';

/** A replay of a recorded step that has ended. */
export interface ReplayReport {
  /** When it began, as `performance.now()` tells. Observers may be called some time after its end. */
  readonly start: number;
  /** Of the whole replay, in milliseconds. */
  readonly ms: number;
  /** The recording. The same object in each of its replays. */
  readonly recording: object;
  /** Without those of JavaScript between native calls. */
  readonly flops: Flops;
  /** The native calls, with their mean times in the last replays. */
  calls(): readonly ReplayedCall[];
  /** When each of these calls began and ended in this replay. See `Recording.spans` of `@acc/native`. */
  spans(): Float64Array;
}

export type ReplayObserver = (report: ReplayReport) => void;

const observers = new Set<ReplayObserver>();

/** Tells the observers of replays. */
export function reportReplay(report: ReplayReport): void {
  for (const observer of observers) observer(report);
}

/**
 * Calls `observer` after every replay of a recorded step in this process.
 *
 * @returns Removes this observer.
 */
export function observeReplays(observer: ReplayObserver): () => void {
  const own: ReplayObserver = (report) => observer(report);
  observers.add(own);
  return () => void observers.delete(own);
}
