/**
 * How the time of steps was spent, in milliseconds. `data` is the rest of a step: waiting for
 * batches, and the loop's own code.
 */
export interface StepTimes {
  readonly step: number;
  readonly data: number;
  readonly forward: number;
  readonly backward: number;
  /** The time that the step waited for other ranks after its own gradients were done. */
  readonly communication: number;
  readonly optimizer: number;
}

/** One step. Times are in milliseconds, `start` and `end` those of the clock. */
export interface LastStep {
  readonly start: number;
  readonly end: number;
  readonly forward: number;
  readonly backward: number;
  readonly communication: number;
  readonly optimizer: number;
  /** In forward passes that no backward pass followed. */
  readonly evaluation: number;
}

const NOTHING = { forward: 0, backward: 0, communication: 0, optimizer: 0 };

/**
 * Adds up the parts of steps. On a GPU, the parts measure only the time in which JavaScript starts
 * the work.
 */
export class StepClock {
  readonly #now: () => number;
  #parts = { ...NOTHING };
  /** {@link #parts} at the end of the last step. */
  #before = { ...NOTHING };
  #last: LastStep | undefined;
  #steps = 0;
  #startMs: number | undefined;
  #lastStepMs: number | undefined;
  #longestMs = 0;
  #lastForwardMs = 0;
  /** Whether a pass runs. Those within it belong to it. */
  #isInPass = false;
  /** Since the end of the last step: forward passes before others, those before backward passes, and these. */
  #passes = { superseded: [] as number[], followed: 0, backwards: 0 };
  #gradientMs: number | undefined;
  #transformMs: number | undefined;

  /** @param now Returns the time in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The longest step since the last `take`. */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** The step that has just ended. Undefined for the first one. */
  get last(): LastStep | undefined {
    return this.#last;
  }

  forward<T>(compute: () => T): T {
    if (this.#isInPass) return compute();
    this.#isInPass = true;
    const start = this.#now();
    if (this.#lastForwardMs > 0) this.#passes.superseded.push(this.#lastForwardMs);
    try {
      return compute();
    } finally {
      this.#isInPass = false;
      this.#lastForwardMs = this.#now() - start;
    }
  }

  /**
   * Counts the last forward pass as training. A forward pass without a backward pass does not
   * count.
   */
  backward<T>(compute: () => T): T {
    if (this.#isInPass) return compute();
    this.#isInPass = true;
    const start = this.#now();
    const before = this.#parts.communication;
    try {
      return compute();
    } finally {
      this.#isInPass = false;
      this.#parts.backward += this.#now() - start - (this.#parts.communication - before);
      this.#parts.forward += this.#lastForwardMs;
      this.#passes.backwards++;
      if (this.#lastForwardMs > 0) this.#passes.followed++;
      this.#lastForwardMs = 0;
    }
  }

  gradient(): void {
    this.#gradientMs = this.#now();
  }

  /** Called when all gradients have been reduced over the ranks. */
  reduced(): void {
    if (this.#gradientMs !== undefined) this.#parts.communication += this.#now() - this.#gradientMs;
    this.#gradientMs = undefined;
  }

  beginOptimizer(): void {
    this.#transformMs = this.#now();
  }

  endStep(): void {
    const now = this.#now();
    if (this.#transformMs !== undefined) this.#parts.optimizer += now - this.#transformMs;
    this.#transformMs = undefined;
    const evaluation = this.#evaluationMs();
    if (this.#startMs === undefined) {
      // The first step is not counted, because it also creates state that later steps reuse.
      this.#startMs = this.#lastStepMs = now;
      this.#parts = { ...NOTHING };
      this.#before = { ...NOTHING };
      return;
    }
    this.#longestMs = Math.max(this.#longestMs, now - this.#lastStepMs!);
    this.#last = this.#stepUntil(now, evaluation);
    this.#lastStepMs = now;
    this.#steps++;
  }

  /**
   * The time of forward passes that have no backward pass. A pipeline has several forward passes before the
   * first backward one: predictions are those that are too many, and come before the others.
   */
  #evaluationMs(): number {
    const { superseded, followed, backwards } = this.#passes;
    const extra = superseded.length + followed - backwards;
    this.#passes.followed = this.#passes.backwards = 0;
    if (superseded.length === 0) return 0;
    this.#passes.superseded = [];
    return superseded.slice(0, Math.max(0, extra)).reduce((sum, ms) => sum + ms, 0);
  }

  #stepUntil(end: number, evaluation: number): LastStep {
    const [parts, before] = [this.#parts, this.#before];
    this.#before = { ...parts };
    return {
      start: this.#lastStepMs!,
      end,
      forward: parts.forward - before.forward,
      backward: parts.backward - before.backward,
      communication: parts.communication - before.communication,
      optimizer: parts.optimizer - before.optimizer,
      evaluation,
    };
  }

  /** The mean times of the steps since the last call. Undefined if there were no steps. */
  take(): StepTimes | undefined {
    const steps = this.#steps;
    if (steps === 0) return undefined;
    const total = (this.#lastStepMs! - this.#startMs!) / steps;
    const { forward, backward, communication, optimizer } = this.#parts;
    const parts = {
      forward: forward / steps,
      backward: backward / steps,
      communication: communication / steps,
      optimizer: optimizer / steps,
    };
    const known = parts.forward + parts.backward + parts.communication + parts.optimizer;
    this.#parts = { ...NOTHING };
    this.#before = { ...NOTHING };
    this.#steps = this.#longestMs = 0;
    this.#startMs = this.#lastStepMs;
    return { step: total, data: Math.max(0, total - known), ...parts };
  }
}
