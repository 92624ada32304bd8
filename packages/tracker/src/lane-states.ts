import type { RunStatus } from '@acc/contract';

/** How far the run is at its tracker. */
export type RunState =
  /** The tracker has not started the run. */
  | 'new'
  /** The tracker takes entries. */
  | 'running'
  /** The tracker refused the run, and gets no entries. */
  | 'broken'
  /** The tracker has everything, and the run is over. */
  | 'finished';

/** The activity of a lane. It makes calls only while it is idle. */
export type Activity =
  /** Nothing is under way. */
  | { readonly kind: 'idle' }
  /** The result of a call is awaited. */
  | { readonly kind: 'calling' }
  /** A timer will repeat a call that did not reach the tracker. */
  | { readonly kind: 'retrying'; readonly timer: ReturnType<typeof setTimeout> }
  /** The event loop will go on with calls that took too long for one slice. */
  | { readonly kind: 'pausing'; readonly cancel: () => void };

export const IDLE: Activity = { kind: 'idle' };

/** Whether entries may follow. */
export type RunEnd =
  /** The run goes on. */
  | { readonly kind: 'open' }
  /** The run of an earlier process is finished when everything is sent. Nobody waits for it. */
  | { readonly kind: 'unattended'; readonly status: RunStatus }
  /** The run ends, and the process stays alive for it. */
  | { readonly kind: 'awaited'; readonly status: RunStatus };

/** A time in which the tracker cannot be reached. */
export interface Outage {
  /** In the time of `performance.now()`. */
  readonly sinceMs: number;
  /** The number of calls that failed. */
  readonly failures: number;
}
