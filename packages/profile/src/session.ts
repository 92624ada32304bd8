import type { CollectiveObserver } from '@acc/collective';
import type { ReplayReport } from '@acc/kernels';
import { memoryStats, resetPeakMemory, synchronize, type CallObserver } from '@acc/native';
import { GarbageTimes } from './garbage-times.js';
import { Observers } from './observers.js';
import type { ResolvedProfileOptions } from './options.js';
import { OperatorTimes } from './operator-times.js';
import { Spans } from './spans.js';
import { PartsClock } from './step-parts.js';

type Pass = <T>(compute: () => T) => T;

/** `skipping`: the steps before the active ones. `done`: the steps after them. */
type State = 'skipping' | 'active' | 'done';

/** Observes the steps of one profile. */
export class Session {
  readonly operators = new OperatorTimes();
  readonly parts = new PartsClock();
  readonly spans: Spans;
  /** The ends of the steps in the active window, after its begin. */
  readonly ends: number[] = [];
  /** The number of steps that `fn` has taken. */
  steps = 0;
  /** Of the active steps. */
  peakBytes = 0;
  /** The begin of the active steps, in milliseconds of `performance.now()`. */
  begin = 0;
  #state: State = 'skipping';
  /** The end of the last backward pass of this step. */
  #backwardEnd: number | undefined;
  #depth = 0;
  readonly #garbage = new GarbageTimes();
  readonly #observers = new Observers({
    call: (name, args, ms) => this.#call(name, args, ms),
    collective: (name, ms) => this.#collective(name, ms),
    replay: (report) => this.#replay(report),
  });

  constructor(private readonly options: ResolvedProfileOptions) {
    const { schedule, traceDir } = options;
    this.spans = new Spans(traceDir !== undefined);
    if (schedule.wait + schedule.warmup === 0) this.#activate();
  }

  /** Runs a forward pass. Those in a backward pass are recomputations, and belong to it. */
  readonly forward: Pass = (compute) => this.#phase('forward', compute);

  readonly backward: Pass = (compute) => {
    try {
      return this.#phase('backward', compute);
    } finally {
      this.#backwardEnd = performance.now();
    }
  };

  endStep(): void {
    const { wait, warmup, active } = this.options.schedule;
    this.steps++;
    const isLast = this.#state === 'active' && this.ends.length === active - 1;
    // On a GPU the work of the last step may still be running.
    if (isLast) synchronize();
    if (this.#state === 'active') this.#endActiveStep(performance.now());
    this.#backwardEnd = undefined;
    if (this.#state === 'skipping' && this.steps === wait + warmup) this.#activate();
    else if (isLast) this.#finish();
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
    synchronize();
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
    if (end !== undefined) {
      this.parts.add('optimizer', end, now);
      this.spans.add('phases', 'optimizer', [end, now]);
    }
    this.spans.add('steps', `step ${this.steps}`, [this.ends.at(-1) ?? this.begin, now]);
    this.ends.push(now);
  }

  #phase<T>(name: 'forward' | 'backward', compute: () => T): T {
    // A layer model within a loss predicts: that is a part of the forward pass around it.
    if (this.#state !== 'active' || this.#depth > 0) return compute();
    const start = performance.now();
    this.#depth++;
    try {
      return compute();
    } finally {
      this.#depth--;
      const now = performance.now();
      this.parts.add(name, start, now);
      this.spans.add('phases', name, [start, now]);
    }
  }

  #call(...[name, args, ms]: Parameters<CallObserver>): void {
    const now = performance.now();
    const shapes = this.operators.observe(name, args, ms);
    this.spans.add('operators', name, [now - ms, now], { shapes });
  }

  #collective(...[name, ms]: Parameters<CollectiveObserver>): void {
    const now = performance.now();
    this.parts.add('communication', now - ms, now);
    this.spans.add('collectives', name(), [now - ms, now]);
  }

  #replay(report: ReplayReport): void {
    const now = performance.now();
    const start = now - report.ms;
    // The end of a replay, after its step, does not count.
    const end = this.#state === 'active' ? now : this.ends.at(-1)!;
    // A replay around the begin belongs to the step before, one that begins later to none.
    if (start < this.begin || start >= end) return;
    this.operators.replayed(report);
    this.parts.add('replay', start, end);
    this.spans.add('phases', 'replay', [start, end]);
  }
}
