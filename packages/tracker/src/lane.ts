import { isAccError, noteWait, type RunInfo, type RunStatus, type Tracker } from '@acc/contract';
import { randomBelow, soon, unref } from '@acc/platform';
import { entriesCall, finishCall, limitOf, startCall, type Call } from './calls.js';
import type { Entry } from './entry.js';
import { isUnavailable } from './errors.js';
import { IDLE, type Activity, type Outage, type RunEnd, type RunState } from './lane-states.js';
import type { TrackerLimits } from './limits.js';
import type { EntryQueue } from './queue/entry-queue.js';
import type { Reporter } from './reporter.js';
import { callWithin, isPending } from './time-limit.js';

export interface LaneOptions {
  readonly tracker: Tracker;
  readonly run: RunInfo;
  /** The id that the tracker gave the run in an earlier process, if the run is resumed. */
  readonly resumedId: string | undefined;
  readonly queue: EntryQueue;
  readonly limits: TrackerLimits;
  readonly reporter: Reporter;
  /**
   * The final status of an earlier run. If given, the run is finished as soon as everything is
   * sent.
   */
  readonly status?: RunStatus;
  /** Called after the tracker has started. */
  readonly onStarted?: () => void;
  /** Called once, when the tracker has finished or will not receive the rest. */
  readonly onEnded?: (isFinished: boolean) => void;
}

/**
 * A call that blocks JavaScript this long delays a step. After {@link SLOW_CALLS} such calls the
 * user is warned.
 */
const SLOW_MS = 50;
const SLOW_CALLS = 3;
/** Synchronous calls are made for at most this long at a time, in milliseconds. */
const SLICE_MS = 4;
/** After this time at the end of a run, the user is told what it waits for, in milliseconds. */
const SHOWN_MS = 2_000;

/**
 * The queue of one tracker and the calls that empty it. Calls are made one at a time, in order, and
 * are repeated until they succeed. A lane never delays a step: `push` makes calls only as far as
 * they do not have to wait, and the event loop makes the rest.
 */
export class Lane {
  readonly #given: LaneOptions;
  #state: RunState = 'new';
  #activity: Activity = IDLE;
  #end: RunEnd;
  /** Undefined while the tracker can be reached. */
  #outage: Outage | undefined;
  #lastCallMs = -Infinity;
  /** The number of entries to send one by one, because the tracker refused them as a batch. */
  #singly = 0;
  #isEndTold = false;
  #wake: (() => void) | undefined;
  #current = new AbortController();
  #slowCalls = 0;
  #deadlineMs = Infinity;
  #isClosed = false;

  /** The number of entries that the tracker refused. */
  refused = 0;
  /** The error after which the tracker receives nothing more. */
  brokenBy: unknown;

  constructor(options: LaneOptions) {
    this.#given = options;
    const { status } = options;
    this.#end = status === undefined ? { kind: 'open' } : { kind: 'unattended', status };
  }

  get tracker(): Tracker {
    return this.#given.tracker;
  }

  get hasStarted(): boolean {
    return this.#state === 'running' || this.#state === 'finished';
  }

  get isFinished(): boolean {
    return this.#state === 'finished';
  }

  /** Whether the lane waits for a call or for the next retry. */
  get isBusy(): boolean {
    const { kind } = this.#activity;
    return kind === 'calling' || kind === 'retrying';
  }

  get queue(): EntryQueue {
    return this.#given.queue;
  }

  push(entry: Entry): void {
    const { queue, limits, tracker } = this.#given;
    queue.push(entry);
    this.#tellDisk();
    const isLate = performance.now() - this.#lastCallMs > limits.batchMs;
    if (tracker.logBatch && !isLate && queue.length % limits.batchRows !== 0) return;
    // If the event loop is blocked, this is the only opportunity to make calls.
    if (this.#activity.kind === 'pausing') this.#interrupt();
    this.advance();
  }

  /** Calls the tracker until there is nothing left to send, or until a call has to be awaited. */
  advance(): void {
    if (this.#activity.kind !== 'idle' || this.#isClosed) return;
    const start = performance.now();
    for (;;) {
      const call = this.#next();
      if (!call) return this.#wake?.();
      this.#lastCallMs = performance.now();
      if (!this.#make(call)) return;
      // A tracker that logs has made the lane call it again.
      if (this.#activity.kind !== 'idle') return;
      if (this.#end.kind !== 'awaited' && performance.now() - start > SLICE_MS) return this.#goOnLater();
    }
  }

  /**
   * Resolves when the tracker has started or is broken, or at the deadline (in the time of
   * `performance.now()`).
   */
  async started(deadlineMs: number): Promise<void> {
    while (this.#state === 'new') {
      const leftMs = deadlineMs - performance.now();
      // A service that cannot be reached is not waited for. The user already knows that data is
      // kept.
      if (leftMs <= 0 || this.#outage) return;
      await this.#change(leftMs);
    }
  }

  /**
   * Sends the rest and finishes the run. Resolves when that is done, when the tracker is broken,
   * when it could not be reached for `downMs`, or at `deadlineMs` (in the time of
   * `performance.now()`). Unsent data is then on disk. Call it once.
   */
  async finish(
    status: RunStatus,
    { downMs, deadlineMs }: { downMs: number; deadlineMs: number },
  ): Promise<void> {
    this.hurry(deadlineMs);
    if (this.#outage) this.#outage = { ...this.#outage, sinceMs: performance.now() };
    this.#beginEnd(status);
    const start = performance.now();
    while (!this.#isOver(downMs)) {
      await this.#change(Math.min(250, this.#deadlineMs - performance.now()));
      const isLong = performance.now() - start > SHOWN_MS;
      if (isLong && this.#state === 'running') this.#given.reporter.waiting(this.queue.length);
    }
    this.#close();
  }

  /** Brings the deadline of `finish` forward to `deadlineMs` (in the time of `performance.now()`). */
  hurry(deadlineMs: number): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, deadlineMs);
  }

  /**
   * Does what {@link finish} does as far as possible without waiting. For a process that is about
   * to end.
   */
  finishNow(status: RunStatus): void {
    this.#beginEnd(status);
    this.#close();
  }

  /** Tells the user what was not sent. */
  reportEnd(): void {
    const { reporter, tracker } = this.#given;
    const { path, length, lost, inMemory } = this.queue;
    if (this.#state === 'broken') reporter.ended(this.brokenBy);
    const canGoOn = this.#state === 'new' || tracker.resume !== undefined;
    const isKept = path !== undefined && canGoOn;
    if (isKept) reporter.kept(length - inMemory, path);
    const missing = lost + this.refused + (isKept ? inMemory : length);
    if (missing > 0) reporter.lost(missing);
  }

  /** Writes everything that was not sent to disk. */
  keep(): void {
    this.queue.spill();
    this.#tellDisk();
  }

  #tellDisk(): void {
    if (this.queue.diskError) this.#given.reporter.disk(this.queue.diskError);
  }

  #beginEnd(status: RunStatus): void {
    this.#end = { kind: 'awaited', status: this.#end.kind === 'open' ? status : this.#end.status };
    this.#interrupt();
    this.advance();
  }

  /** Ends a pause, or the time before a retry. */
  #interrupt(): void {
    const activity = this.#activity;
    if (activity.kind === 'calling') return;
    if (activity.kind === 'retrying') clearTimeout(activity.timer);
    if (activity.kind === 'pausing') activity.cancel();
    this.#activity = IDLE;
  }

  #isOver(downMs: number): boolean {
    const now = performance.now();
    if (this.#state === 'finished' || this.#state === 'broken' || now >= this.#deadlineMs) return true;
    return this.#outage !== undefined && now - this.#outage.sinceMs >= downMs;
  }

  #close(): void {
    this.#isClosed = true;
    this.#interrupt();
    this.#current.abort();
    if (this.#state !== 'finished') this.keep();
    this.queue.close();
    this.#tellEnded();
  }

  #tellEnded(): void {
    if (!this.#isEndTold) this.#given.onEnded?.(this.#state === 'finished');
    this.#isEndTold = true;
  }

  #next(): Call | undefined {
    const { tracker, run, resumedId, queue, limits } = this.#given;
    if (this.#state === 'new') return startCall(tracker, run, resumedId);
    if (this.#state !== 'running') return undefined;
    const entries = queue.peek(this.#singly > 0 ? 1 : limits.batchRows);
    if (entries.length > 0) return entriesCall(tracker, entries);
    return this.#end.kind === 'open' ? undefined : finishCall(tracker, this.#end.status);
  }

  /** Makes a call. Returns false if its result has to be awaited. */
  #make(call: Call): boolean {
    if (this.#current.signal.aborted) this.#current = new AbortController();
    const start = performance.now();
    let outcome: void | Promise<void>;
    try {
      outcome = call.run(this.#current.signal);
    } catch (error) {
      return this.#failed(call, error);
    }
    const tookMs = performance.now() - start;
    noteWait('logging', start);
    if (tookMs > SLOW_MS && call.kind === 'entries' && this.#end.kind !== 'awaited') {
      if (++this.#slowCalls === SLOW_CALLS) this.#given.reporter.slow(tookMs);
    }
    if (!isPending(outcome)) {
      this.#arrived(call);
      return true;
    }
    this.#activity = { kind: 'calling' };
    const { tracker, queue } = this.#given;
    // Entries that arrive meanwhile wait for the next batch. Otherwise a fast service would be
    // called all the time.
    const isWhole = tracker.logBatch && call.kind === 'entries' && call.entries.length === queue.length;
    const isOn = (): boolean => {
      this.#activity = IDLE;
      this.#wake?.();
      return true;
    };
    callWithin(outcome, limitOf(call, this.#given.limits.callMs), this.#current).then(
      () => {
        isOn();
        // What a closed lane has not sent is kept, and a later run sends it.
        if (this.#isClosed) return;
        this.#arrived(call);
        if (!isWhole || this.#end.kind !== 'open') this.advance();
      },
      (error: unknown) => isOn() && !this.#isClosed && this.#failed(call, error) && this.advance(),
    );
    return false;
  }

  #arrived({ kind, entries }: Call): void {
    const { reporter, onStarted } = this.#given;
    this.#outage = undefined;
    reporter.back();
    if (kind === 'start') {
      this.#state = 'running';
      onStarted?.();
    }
    if (kind === 'finish') this.#finished();
    this.#done(entries.length);
  }

  #done(count: number): void {
    if (count === 0) return;
    this.#singly = Math.max(0, this.#singly - count);
    this.queue.drop(count);
    this.#tellDisk();
  }

  #finished(): void {
    this.#state = 'finished';
    this.queue.remove();
    this.#tellEnded();
  }

  /** Handles a failed call. Returns true if the next call may follow at once. */
  #failed({ kind, entries }: Call, error: unknown): boolean {
    const { reporter } = this.#given;
    if (isUnavailable(error)) return this.#waitForIt(error);
    // The service answered.
    this.#outage = undefined;
    if (kind === 'start') return this.#breakDown(error);
    reporter.refused(error);
    if (kind === 'finish') {
      this.#finished();
      return true;
    }
    if (entries.length > 1) {
      this.#singly = entries.length;
      return true;
    }
    this.refused++;
    this.#done(1);
    return true;
  }

  #breakDown(error: unknown): false {
    this.#state = 'broken';
    this.brokenBy = error;
    this.keep();
    this.#wake?.();
    return false;
  }

  #waitForIt(error: unknown): false {
    const { limits, reporter } = this.#given;
    reporter.down(error);
    const { sinceMs, failures } = this.#outage ?? { sinceMs: performance.now(), failures: 0 };
    this.#outage = { sinceMs, failures: failures + 1 };
    this.#wake?.();
    this.keep();
    const doubled = limits.retryMinMs * 2 ** Math.min(failures, 20);
    const asked = isAccError(error) ? Number(error.details['retryAfterMs'] ?? 0) : 0;
    // The jitter spreads the retries of many ranks and programs. It does not use Math.random, which
    // belongs to the training.
    const jitter = 0.75 + randomBelow(501) / 1000;
    const waitMs = Math.max(Math.min(doubled, limits.retryMaxMs) * jitter, asked);
    const isAwaited = this.#end.kind === 'awaited';
    const goOn = () => {
      this.#interrupt();
      this.advance();
    };
    const timer = setTimeout(goOn, isAwaited ? Math.min(waitMs, limits.retryMinMs) : waitMs);
    unref(timer);
    this.#activity = { kind: 'retrying', timer };
    return false;
  }

  #goOnLater(): void {
    const cancel = soon(() => {
      this.#activity = IDLE;
      this.advance();
    });
    this.#activity = { kind: 'pausing', cancel };
  }

  /**
   * Resolves when a call has ended, or after `ms` milliseconds. Keeps the process alive meanwhile.
   */
  #change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
