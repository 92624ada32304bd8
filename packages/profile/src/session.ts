import type { ReplayReport } from '@acc/kernels';
import { resetPeakMemory, synchronize, type CallObserver } from '@acc/native';
import { GarbageTimes } from './garbage-times.js';
import { Observers } from './observers.js';
import type { ResolvedProfileOptions } from './options.js';
import { LayerTimes } from './layer-times.js';
import { giveKnown, MemoryTimeline, type KnownTensors } from './memory-owners.js';
import { namesOf, OperatorTimes } from './operator-times.js';
import { Spans } from './spans.js';
import { PartsClock } from './step-parts.js';

type Pass = <T>(compute: () => T) => T;

/** The training that a session observes. */
export interface ProfiledTraining extends KnownTensors {
  readonly isOnHost: boolean;
  /** The prepared models. */
  models(): Iterable<object>;
}

/** `skipping`: the steps before the active ones. `done`: the steps after them. */
type State = 'skipping' | 'active' | 'done';

/** Observes the steps of one profile. */
export class Session {
  readonly operators = new OperatorTimes();
  readonly layers = new LayerTimes();
  readonly parts = new PartsClock();
  readonly spans: Spans;
  /** The ends of the steps in the active window, after its begin. */
  readonly ends: number[] = [];
  /** The number of steps that `fn` has taken. */
  steps = 0;
  readonly memory: MemoryTimeline;
  /** The begin of the active steps, in milliseconds of `performance.now()`. */
  begin = 0;
  #state: State = 'skipping';
  /** The end of the last backward pass of this step. */
  #backwardEnd: number | undefined;
  #depth = 0;
  readonly #garbage = new GarbageTimes();
  readonly #observers = new Observers({
    call: (name, args, ms) => this.#call(name, args, ms),
    collective: (name, ms) => {
      const now = performance.now();
      this.parts.add('communication', now - ms, now);
      this.spans.add('collectives', name(), [now - ms, now]);
    },
    replay: (report) => this.#replay(report),
  });

  /** @param isGuest Whether the program did not ask for it. Then its peak of memory stays what it was. */
  constructor(
    private readonly options: ResolvedProfileOptions,
    private readonly training: ProfiledTraining,
    private readonly isGuest = false,
  ) {
    const { schedule, traceDir } = options;
    this.memory = new MemoryTimeline(training.isOnHost);
    this.spans = new Spans(traceDir !== undefined);
    if (schedule.wait + schedule.warmup === 0) this.#activate();
  }

  /** Runs a forward pass. Those in a backward pass are recomputations, and belong to it. */
  readonly forward: Pass = (compute) => {
    if (this.#depth === 0) this.layers.phase = 'forward';
    return this.#phase('forward', compute);
  };

  readonly backward: Pass = (compute) => {
    this.layers.phase = 'backward';
    try {
      return this.#phase('backward', compute);
    } finally {
      this.layers.phase = 'optimizer';
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
    this.layers.phase = 'forward';
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
    this.layers.end();
  }

  #activate(): void {
    this.#state = 'active';
    synchronize();
    this.layers.begin(this.training.models());
    giveKnown(this.training);
    if (!this.isGuest) resetPeakMemory();
    this.#observers.begin();
    this.begin = performance.now();
    this.memory.sample(this.begin);
  }

  /** A replay whose step has just ended is reported later, so replays are observed until the end. */
  #finish(): void {
    this.#state = 'done';
    this.memory.end();
    this.layers.end();
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
    giveKnown(this.training);
    this.memory.sample(now);
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
      this.memory.sample(now);
    }
  }

  #call(...[name, args, ms]: Parameters<CallObserver>): void {
    const now = performance.now();
    const { shapes, flops } = this.operators.observe(name, args, ms);
    const layer = this.layers.add(ms, flops);
    this.spans.add('operators', name, [now - ms, now], { shapes, layer });
    this.memory.maySample(now);
  }

  #replay(report: ReplayReport): void {
    const { start, ms } = report;
    // The end of a replay, after its step, does not count.
    const end = this.#state === 'active' ? start + ms : this.ends.at(-1)!;
    // A replay around the begin belongs to the step before, one that begins later to none.
    if (start < this.begin || start >= end) return;
    const calls = this.operators.replayed(report);
    this.layers.addReplay(report);
    if (this.spans.isOn) addCalls(this.spans, calls, report.spans());
    this.parts.add('replay', start, end);
    this.spans.add('phases', 'replay', [start, end]);
  }
}

/** @param times The begin and the end of each call. */
function addCalls(spans: Spans, calls: ReturnType<ReplayReport['calls']>, times: Float64Array): void {
  for (const [i, call] of calls.entries()) {
    const { name, shapes } = namesOf(call);
    spans.add('operators', name, [times[2 * i]!, times[2 * i + 1]!], { shapes });
  }
}
