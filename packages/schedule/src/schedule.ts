import type { Optimizer } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { Curve } from './curves.js';
import { setLearningRate } from './learning-rate.js';

/** The state of a schedule, for a checkpoint. */
export interface ScheduleState {
  /** The number of steps, or samples, counted so far. */
  readonly count: number;
  /** The optimizer's progress since the schedule last moved. Absent if there is none. */
  readonly since?: { readonly steps: number; readonly samples: number };
}

/** The optimizer's progress since a prepared schedule last moved. */
interface Progress {
  steps: number;
  samples: number;
  iterationsBefore: number;
  hasSteps: boolean;
}

/** A curve, the position of an optimizer on it, and the optimizer's progress since then. */
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

  /** Makes the schedule move only when the optimizer has stepped. */
  follow(factor: number): void {
    const { iterations } = this.optimizer;
    this.#progress ??= { steps: 0, samples: 0, iterationsBefore: iterations, hasSteps: false };
    this.#factor = factor;
    this.#set();
  }

  /** Records a step of the optimizer on `samples` samples of all ranks. */
  hear(samples: number | undefined): void {
    const progress = this.#progress!;
    if (this.unit === 'samples' && samples === undefined) throw uncounted();
    progress.hasSteps = true;
    progress.steps++;
    progress.samples += samples ?? 0;
  }

  /**
   * Moves by one step, or by the samples since the last move. Does nothing if the optimizer has not
   * stepped.
   */
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

  /** Restores a state. The optimizer's state must be from the same moment. */
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
    throw new AccError('ACC_SCHEDULE_OPTIMIZER', 'The schedule was prepared, but its optimizer was not.', {
      help: 'Also pass the optimizer, or the model that was compiled with it, to prepare.',
    });
  }
}

function uncounted(): AccError {
  return new AccError(
    'ACC_SCHEDULE_SAMPLES',
    'The schedule counts samples, but the number of samples is unknown.',
    {
      help: 'Prepare the scheduler and the data, or count steps.',
    },
  );
}
