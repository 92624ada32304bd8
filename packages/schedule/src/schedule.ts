import type { Optimizer } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { Curve } from './curves.js';
import { setLearningRate } from './learning-rate.js';

/** What has to be kept to go on with a schedule. */
export interface ScheduleState {
  /** Steps, or samples, that were counted. */
  readonly count: number;
  /** What the optimizer has done since; absent where it has done nothing. */
  readonly since?: { readonly steps: number; readonly samples: number };
}

/** What the optimizer of a prepared schedule has done since the schedule moved last. */
interface Progress {
  steps: number;
  samples: number;
  iterationsBefore: number;
  hasSteps: boolean;
}

/** A curve, where on it an optimizer is, and what it has done since. */
export class Schedule {
  #count = 0;
  #factor = 1;
  #progress: Progress | undefined;

  constructor(
    readonly optimizer: Optimizer,
    private readonly curve: Curve,
    private readonly unit: 'steps' | 'samples',
  ) {
    this.#set();
  }

  get learningRate(): number {
    return this.curve(this.#count) * this.#factor;
  }

  /** From now on it moves only when the optimizer has. */
  follow(factor: number): void {
    const { iterations } = this.optimizer;
    this.#progress ??= { steps: 0, samples: 0, iterationsBefore: iterations, hasSteps: false };
    this.#factor = factor;
    this.#set();
  }

  /** The optimizer has taken a step on `samples` of all ranks. */
  hear(samples: number | undefined): void {
    const progress = this.#progress!;
    if (this.unit === 'samples' && samples === undefined) throw uncounted();
    progress.hasSteps = true;
    progress.steps++;
    progress.samples += samples ?? 0;
  }

  /** One step further, or by the samples since the last one; where the optimizer has not stepped, nothing. */
  move(): void {
    const progress = this.#progress;
    if (!progress) {
      if (this.unit === 'samples') throw uncounted();
      this.#count++;
    } else {
      if (progress.steps === 0) return this.#requireHeard(progress);
      this.#count += this.unit === 'samples' ? progress.samples : 1;
      progress.steps = progress.samples = 0;
    }
    this.#set();
  }

  getState(): ScheduleState {
    const { steps = 0, samples = 0 } = this.#progress ?? {};
    return { count: this.#count, ...(steps > 0 && { since: { steps, samples } }) };
  }

  /** The optimizer's state is that of the same moment. */
  setState({ count, since }: ScheduleState): void {
    this.#count = count;
    const { iterations } = this.optimizer;
    if (this.#progress) {
      const { steps, samples } = since ?? { steps: 0, samples: 0 };
      Object.assign(this.#progress, { steps, samples, iterationsBefore: iterations, hasSteps: steps > 0 });
    }
    this.#set();
  }

  #set(): void {
    setLearningRate(this.optimizer, this.learningRate);
  }

  #requireHeard({ hasSteps, iterationsBefore }: Progress): void {
    if (hasSteps || this.optimizer.iterations <= iterationsBefore) return;
    throw new AccError('ACC_SCHEDULE_OPTIMIZER', 'The schedule was prepared, its optimizer was not.', {
      help: 'Give the optimizer, or the model that was compiled with it, to prepare as well.',
    });
  }
}

function uncounted(): AccError {
  return new AccError('ACC_SCHEDULE_SAMPLES', 'The schedule counts samples, and nobody counts them here.', {
    help: 'Prepare the scheduler and the data, or count steps.',
  });
}
