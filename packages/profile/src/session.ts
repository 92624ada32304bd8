import type { CollectiveObserver } from '@acc/collective';
import type { ReplayReport } from '@acc/kernels';
import { memoryStats, resetPeakMemory, type CallObserver } from '@acc/native';
import { GarbageTimes } from './garbage-times.js';
import { Observers } from './observers.js';
import type { ResolvedProfileOptions } from './options.js';
import { OperatorTimes, shapesOf } from './operator-times.js';
import { Spans } from './spans.js';
import { PartsClock } from './step-parts.js';

type Pass = <T>(compute: () => T) => T;

/** `skipping`: the steps before the active ones. `done`: the steps after them. */
type State = 'skipping' | 'active' | 'done';

/** Observes the steps of one profile. */
export class Session {
  readonly operators = new OperatorTimes();
  readonly parts = new PartsClock();
  readonly spans = new Spans();
  /** The ends of the steps in the active window, after its begin. */
  readonly ends: number[] = [];
  /** The number of steps that `fn` has taken. */
  steps = 0;
  /** Of the active steps. */
  peakBytes = 0;
  /** The begin of the active steps, in milliseconds of `performance.now()`. */
  begin = 0;
  #state: State = 'skipping';
  /** The end of the last backward pass of this step, and the collectives before it. */
  #backwardEnd: { readonly at: number; readonly mark: number } | undefined;
  #depth = 0;
  readonly #garbage = new GarbageTimes();
  readonly #observers = new Observers({
    call: (name, args, ms) => this.#call(name, args, ms),
    collective: (name, ms) => this.#collective(name, ms),
    replay: (report) => this.#replay(report),
  });

  constructor(private readonly schedule: ResolvedProfileOptions['schedule']) {
    if (schedule.wait + schedule.warmup === 0) this.#activate();
  }

  /** Runs a forward pass. Those in a backward pass are recomputations, and belong to it. */
  readonly forward: Pass = (compute) => this.#phase('forward', compute);

  readonly backward: Pass = (compute) => {
    try {
      return this.#phase('backward', compute);
    } finally {
      this.#backwardEnd = { at: performance.now(), mark: this.parts.mark };
    }
  };

  endStep(): void {
    const now = performance.now();
    const { wait, warmup, active } = this.schedule;
    this.steps++;
    if (this.#state === 'active') this.#endActiveStep(now);
    this.#backwardEnd = undefined;
    if (this.#state === 'skipping' && this.steps === wait + warmup) this.#activate();
    else if (this.#state === 'active' && this.ends.length === active) this.#finish();
  }

  /** Adds what Node reports about garbage collection, which it does between tasks only. */
  async collectGarbageTimes(): Promise<void> {
    const end = this.ends.at(-1) ?? 0;
    for (const { startTime, duration } of await this.#garbage.take()) {
      if (startTime >= this.begin && startTime < end)
        this.spans.add('garbage collection', 'garbage collection', [startTime, startTime + duration]);
    }
  }

  end(): void {
    this.#garbage.end();
    this.#observers.end();
  }

  #activate(): void {
    this.#state = 'active';
    resetPeakMemory();
    this.#observers.begin();
    this.begin = performance.now();
  }

  /** A replay whose step has just ended is reported later, so replays are observed until the end. */
  #finish(): void {
    this.#state = 'done';
    this.peakBytes = memoryStats().peakAllocatedBytes;
    this.#observers.endAllButReplays();
  }

  #endActiveStep(now: number): void {
    const end = this.#backwardEnd;
    if (end) {
      this.parts.add('optimizer', now - end.at, end.mark);
      this.spans.add('phases', 'optimizer', [end.at, now]);
    }
    this.spans.add('steps', `step ${this.steps}`, [this.ends.at(-1) ?? this.begin, now]);
    this.ends.push(now);
  }

  #phase<T>(name: 'forward' | 'backward', compute: () => T): T {
    // A layer model within a loss predicts: that is a part of the forward pass around it.
    if (this.#state !== 'active' || this.#depth > 0) return compute();
    const start = performance.now();
    const { mark } = this.parts;
    this.#depth++;
    try {
      return compute();
    } finally {
      this.#depth--;
      const now = performance.now();
      this.parts.add(name, now - start, mark);
      this.spans.add('phases', name, [start, now]);
    }
  }

  #call(...[name, args, ms]: Parameters<CallObserver>): void {
    this.operators.observe(name, args, ms);
    const now = performance.now();
    this.spans.add('operators', name, [now - ms, now], { shapes: shapesOf(args) });
  }

  #collective(...[name, ms]: Parameters<CollectiveObserver>): void {
    this.parts.collective(ms);
    const now = performance.now();
    this.spans.add('collectives', name(), [now - ms, now]);
  }

  #replay(report: ReplayReport): void {
    const now = performance.now();
    const start = now - report.ms;
    const last = this.#state === 'active' ? now : this.ends.at(-1)!;
    // A replay around the begin belongs to the step before, one that begins later to none.
    if (start < this.begin || start >= last) return;
    this.operators.replayed(report);
    this.parts.add('replay', report.ms - this.spans.msSince(start), this.parts.mark);
    this.spans.add('phases', 'replay', [start, now]);
  }
}
