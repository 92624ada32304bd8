import type { QueueLimits } from './queue/entry-queue.js';

/** Limits of time and memory. Times are in milliseconds. */
export interface TrackerLimits extends QueueLimits {
  /** Time between two batches of a tracker that takes batches. */
  readonly batchMs: number;
  readonly batchRows: number;
  /** Time for one call. Artifacts get one more second for each MiB. */
  readonly callMs: number;
  /** Time that `initTrackers` waits for trackers to start. */
  readonly startMs: number;
  /** Time between two attempts to reach a service: doubled from the minimum to the maximum. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** Time that the end of a run waits for a service that cannot be reached. */
  readonly endDownMs: number;
  /**
   * Time for all work when a signal or an error ends the process. `acc launch` kills it after 3 s.
   */
  readonly interruptedMs: number;
}

export const DEFAULT_LIMITS: TrackerLimits = {
  memoryEntries: 4_096,
  memoryBytes: 64 * 2 ** 20,
  diskBytes: 2 ** 30,
  batchMs: 1_000,
  batchRows: 500,
  callMs: 30_000,
  startMs: 15_000,
  retryMinMs: 1_000,
  retryMaxMs: 60_000,
  endDownMs: 5_000,
  interruptedMs: 2_000,
};
