import type { QueueLimits } from './queue/entry-queue.js';

/** How long things may take, and how much may wait. Times in ms. */
export interface TrackerLimits extends QueueLimits {
  /** Between two batches of a tracker that takes batches. */
  readonly batchMs: number;
  readonly batchRows: number;
  /** For one call; artifacts have a second more for each MiB. */
  readonly callMs: number;
  /** What `initTrackers` waits for trackers to start. */
  readonly startMs: number;
  /** Between two tries of a service that can't be reached: doubled from the first to the last. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** How long the end of a run waits for a service that can't be reached. */
  readonly endDownMs: number;
  /** For all that is done when a signal or an error ends the process. `acc launch` kills after 3 s. */
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
