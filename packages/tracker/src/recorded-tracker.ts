import type { Tracker } from '@acc/contract';

export interface RecordedTracker {
  readonly tracker: Tracker;
  /** Creates another instance of the tracker, which sends the unsent data of earlier runs. */
  readonly make?: (() => Tracker) | undefined;
}
