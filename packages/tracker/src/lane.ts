import { randomInt } from 'node:crypto';
import { isAccError, type RunInfo, type RunStatus, type Tracker } from '@acc/contract';
import { entriesCall, finishCall, limitOf, startCall, type Call } from './calls.js';
import type { Entry } from './entry.js';
import { isUnavailable } from './errors.js';
import type { TrackerLimits } from './limits.js';
import type { EntryQueue } from './queue/entry-queue.js';
import type { Reporter } from './reporter.js';
import { callWithin, isPending } from './time-limit.js';

export interface LaneOptions {
  readonly tracker: Tracker;
  readonly run: RunInfo;
  /** What an earlier process called the run that this one goes on with. */
  readonly resumedId: string | undefined;
  readonly queue: EntryQueue;
  readonly limits: TrackerLimits;
  readonly reporter: Reporter;
  /** How the run ended, where that is known: an earlier one's. It is finished as soon as nothing is left to send. */
  readonly status?: RunStatus;
  /** Called after the tracker has started. */
  readonly onStarted?: () => void;
  /** Called once, when the tracker has finished or has to do without the rest. */
  readonly onEnded?: (isFinished: boolean) => void;
}

/** A call that keeps JavaScript this long keeps a step waiting; so many of them are no accident. */
const SLOW_MS = 50;
const SLOW_CALLS = 3;
/** Calls without a promise are made for so long at a time. */
const SLICE_MS = 4;
/** Whoever waits longer for the end of a run wants to know what for. */
const SHOWN_MS = 2_000;

/**
 * One tracker and what waits for it. Calls go one after another, in order; what has not arrived is called again. A step is
 * never kept: calls go out from `push` as far as they need no waiting, and from the event loop.
 */
export class Lane {
  readonly #given: LaneOptions;
  #state: 'new' | 'running' | 'broken' | 'finished' = 'new';
  #isBusy = false;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #goingOn: NodeJS.Immediate | undefined;
  #lastCallMs = -Infinity;
  /** So many entries go one by one, since together they were refused. */
  #singly = 0;
  #ending: RunStatus | undefined;
  /** The process stays for the end of the run. */
  #isHolding = false;
  #hasEnded = false;
  #wake: (() => void) | undefined;
  #downSinceMs: number | undefined;
  #current = new AbortController();
  #slowCalls = 0;
  #deadlineMs = Infinity;

  /** Entries that the tracker refused. */
  refused = 0;
  /** Why it takes nothing any more. */
  brokenBy: unknown;

  constructor(given: LaneOptions) {
    this.#given = given;
    this.#ending = given.status;
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

  /** It waits for a call, or for the time of the next try. */
  get isBusy(): boolean {
    return this.#isBusy || this.#retry !== undefined;
  }

  get queue(): EntryQueue {
    return this.#given.queue;
  }

  push(entry: Entry): void {
    const { queue, limits, tracker } = this.#given;
    queue.push(entry);
    const isLate = performance.now() - this.#lastCallMs > limits.batchMs;
    if (tracker.logBatch && !isLate && queue.length % limits.batchRows !== 0) return;
    // Where the event loop doesn't turn, this is the only occasion.
    this.#endPause();
    this.advance();
  }

  /** Calls the tracker as long as there is something to call it for and nothing to wait for. */
  advance(): void {
    if (this.#isBusy || this.#retry || this.#goingOn) return;
    const start = performance.now();
    for (;;) {
      const call = this.#next();
      if (!call) return this.#wake?.();
      this.#lastCallMs = performance.now();
      if (!this.#make(call)) return;
      if (!this.#isHolding && performance.now() - start > SLICE_MS) return this.#goOnLater();
    }
  }

  /** Resolves when the tracker has started or is broken, and at the deadline (of `performance.now()`) at the latest. */
  async started(deadlineMs: number): Promise<void> {
    while (this.#state === 'new') {
      const leftMs = deadlineMs - performance.now();
      // One that can't be reached is not waited for: that it is kept has been said.
      if (leftMs <= 0 || this.#downSinceMs !== undefined) return;
      await this.#change(leftMs);
    }
  }

  /**
   * Sends what is left and finishes the run. Ends when that is done, when the tracker is broken, when it could not be
   * reached for `downMs`, or at `deadlineMs` (of `performance.now()`). Afterwards what is left is on disk. Called once.
   */
  async finish(
    status: RunStatus,
    { downMs, deadlineMs }: { downMs: number; deadlineMs: number },
  ): Promise<void> {
    this.hurry(deadlineMs);
    if (this.#downSinceMs !== undefined) this.#downSinceMs = performance.now();
    this.#beginEnd(status);
    const start = performance.now();
    while (!this.#isOver(downMs)) {
      await this.#change(Math.min(250, this.#deadlineMs - performance.now()));
      const isLong = performance.now() - start > SHOWN_MS;
      if (isLong && this.#state === 'running') this.#given.reporter.waiting(this.queue.length);
    }
    this.#close();
  }

  /** Leaves `finish` no more time than until `deadlineMs` (of `performance.now()`). */
  hurry(deadlineMs: number): void {
    this.#deadlineMs = Math.min(this.#deadlineMs, deadlineMs);
  }

  /** The same as {@link finish} as far as it goes without waiting, in a process that is about to end. */
  finishNow(status: RunStatus): void {
    this.#beginEnd(status);
    this.#close();
  }

  /** Tells the user what did not arrive. */
  reportEnd(): void {
    const { reporter, tracker } = this.#given;
    const { path, length, lost } = this.queue;
    if (this.#state === 'broken') reporter.ended(this.brokenBy);
    const canGoOn = this.#state === 'new' || tracker.resume !== undefined;
    if (path !== undefined && canGoOn) reporter.kept(length, path);
    const missing = lost + this.refused + (path !== undefined && !canGoOn ? length : 0);
    if (missing > 0) reporter.lost(missing);
  }

  /** Puts everything on disk that has not arrived. */
  keep(): void {
    this.queue.spill();
    if (this.queue.diskError) this.#given.reporter.disk(this.queue.diskError);
  }

  #beginEnd(status: RunStatus): void {
    this.#ending ??= status;
    this.#isHolding = true;
    this.#endPause();
    this.#tryAgain();
  }

  #endPause(): void {
    clearImmediate(this.#goingOn);
    this.#goingOn = undefined;
  }

  #tryAgain(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.advance();
  }

  #isOver(downMs: number): boolean {
    const now = performance.now();
    if (this.#state === 'finished' || this.#state === 'broken' || now >= this.#deadlineMs) return true;
    return this.#downSinceMs !== undefined && now - this.#downSinceMs >= downMs;
  }

  #close(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#current.abort();
    if (this.#state !== 'finished') this.keep();
    this.queue.close();
    this.#tellEnded();
  }

  #tellEnded(): void {
    if (!this.#hasEnded) this.#given.onEnded?.(this.#state === 'finished');
    this.#hasEnded = true;
  }

  #next(): Call | undefined {
    const { tracker, run, resumedId, queue, limits } = this.#given;
    if (this.#state === 'new') return startCall(tracker, run, resumedId);
    if (this.#state !== 'running') return undefined;
    const entries = queue.peek(this.#singly > 0 ? 1 : limits.batchRows);
    if (entries.length > 0) return entriesCall(tracker, entries);
    return this.#ending === undefined ? undefined : finishCall(tracker, this.#ending);
  }

  /** Makes a call. False: something has to be waited for. */
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
    if (tookMs > SLOW_MS && call.kind === 'entries' && !this.#isHolding) {
      if (++this.#slowCalls === SLOW_CALLS) this.#given.reporter.slow(tookMs);
    }
    if (!isPending(outcome)) {
      this.#arrived(call);
      return true;
    }
    this.#isBusy = true;
    const { tracker, queue } = this.#given;
    // What comes meanwhile makes the next batch, in its time: else a quick service would be called all the time.
    const isWhole = tracker.logBatch && call.kind === 'entries' && call.entries.length === queue.length;
    const isOn = (): boolean => {
      this.#isBusy = false;
      this.#wake?.();
      return true;
    };
    callWithin(outcome, limitOf(call, this.#given.limits.callMs), this.#current).then(
      () => {
        isOn();
        this.#arrived(call);
        if (!isWhole || this.#ending !== undefined) this.advance();
      },
      (error: unknown) => isOn() && this.#failed(call, error) && this.advance(),
    );
    return false;
  }

  #arrived({ kind, entries }: Call): void {
    const { reporter, onStarted } = this.#given;
    this.#failures = 0;
    this.#downSinceMs = undefined;
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
  }

  #finished(): void {
    this.#state = 'finished';
    this.queue.remove();
    this.#tellEnded();
  }

  /** True where the next call may follow at once. */
  #failed({ kind, entries }: Call, error: unknown): boolean {
    const { reporter } = this.#given;
    if (isUnavailable(error)) return this.#waitForIt(error);
    // It answered.
    this.#downSinceMs = undefined;
    this.#failures = 0;
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
    this.#downSinceMs ??= performance.now();
    this.#wake?.();
    this.keep();
    const doubled = limits.retryMinMs * 2 ** Math.min(this.#failures++, 20);
    const asked = isAccError(error) ? Number(error.details['retryAfterMs'] ?? 0) : 0;
    // Of many ranks and programs not all at the same moment. Math.random is the training's.
    const jitter = 0.75 + randomInt(501) / 1000;
    const waitMs = Math.max(Math.min(doubled, limits.retryMaxMs) * jitter, asked);
    this.#retry = setTimeout(
      () => this.#tryAgain(),
      this.#isHolding ? Math.min(waitMs, limits.retryMinMs) : waitMs,
    );
    this.#retry.unref();
    return false;
  }

  #goOnLater(): void {
    this.#goingOn = setImmediate(() => {
      this.#goingOn = undefined;
      this.advance();
    });
    this.#goingOn.unref();
  }

  /** Resolves when a call has ended, and after `ms` at the latest; holds the process meanwhile. */
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
