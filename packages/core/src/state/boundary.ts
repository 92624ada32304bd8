import type { CheckpointOptions } from '@acc/checkpoint';
import type { Collective } from '@acc/contract';
import type { TrackerBus } from '@acc/tracker';
import type { Joinable } from '../join/joinable.js';
import type { TrainingStep } from '../step/training-step.js';
import { Preemption } from '#platform/preemption';
import { isPreempting } from './is-preempting.js';
import type { RunCheckpoints } from './run-checkpoints.js';

interface BoundaryContext {
  readonly collective: Collective;
  readonly joinable: Joinable;
  readonly trainingStep: TrainingStep;
  readonly checkpoints: RunCheckpoints;
  readonly bus: TrackerBus;
}

/** The work between two batches. It does nothing before `listen`. */
export class Boundary {
  #preemption: Preemption | undefined;
  #checkpoints: RunCheckpoints | undefined;

  readonly atBoundary = async (isEnd?: boolean): Promise<void> => {
    // First, because the preemption exchanges with other ranks, which may be lost.
    await this.#checkpoints?.rescuing?.atBoundary();
    await this.#preemption?.atBoundary(isEnd);
  };

  /** Must be called in each step. */
  beat(): void {
    this.#preemption?.beat();
  }

  /** Begins it: signals save the run, if the options ask for that. @returns A function that stops it. */
  listen(options: CheckpointOptions | undefined, context: BoundaryContext): () => void {
    const { collective, joinable, trainingStep, checkpoints, bus } = context;
    this.#checkpoints = checkpoints;
    const stopRescuing = () => checkpoints.rescuing?.dispose();
    if (!isPreempting(options)) return stopRescuing;
    const preemption = new Preemption({
      collective,
      isJoining: () => joinable.isJoining,
      activity: () => trainingStep.updates.activity,
      save: () => checkpoints.save(undefined, { async: false }),
      beforeExit: () => bus.finish('aborted'),
    });
    this.#preemption = preemption;
    return () => {
      stopRescuing();
      preemption.dispose();
      this.#preemption = undefined;
    };
  }
}
