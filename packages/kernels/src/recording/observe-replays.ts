import type { ReplayedCall } from '@acc/native';
import type { Flops } from '../flops/operator-flops.js';

/** A replay of a recorded step that has ended. */
export interface ReplayReport {
  /** Of the whole replay, in milliseconds. */
  readonly ms: number;
  /** The recording. The same object in each of its replays. */
  readonly recording: object;
  /** Without those of JavaScript between native calls. */
  readonly flops: Flops;
  /** The native calls, with their mean times in the last replays. */
  calls(): readonly ReplayedCall[];
}

export type ReplayObserver = (report: ReplayReport) => void;

const replays: { observer?: ReplayObserver | undefined } = {};

/** Tells the observer of replays, if there is one. */
export function reportReplay(report: ReplayReport): void {
  replays.observer?.(report);
}

/**
 * Calls `observer` after every replay of a recorded step in this process. Undefined ends it. There is
 * one observer at a time.
 *
 * @returns The observer that it replaces.
 */
export function observeReplays(observer: ReplayObserver | undefined): ReplayObserver | undefined {
  const before = replays.observer;
  replays.observer = observer;
  return before;
}
