import type { CheckpointOptions } from '@acc/checkpoint';
import type { Collective } from '@acc/contract';
import type { TrackerBus } from '@acc/tracker';
import type { Joinable } from '../join/joinable.js';
import type { StepPipeline } from '../step/step-pipeline.js';
import { Preemption } from '#platform/preemption';
import type { RunCheckpoints } from './run-checkpoints.js';

interface BoundaryContext {
  readonly collective: Collective;
  readonly joinable: Joinable;
  readonly pipeline: StepPipeline;
  readonly checkpoints: RunCheckpoints;
  readonly bus: TrackerBus;
}

/** The work between two batches. It does nothing before `listen`. */
export class Boundary {
  #preemption: Preemption | undefined;

  readonly atBoundary = async (): Promise<void> => {
    await this.#preemption?.atBoundary();
  };

  /** Makes signals save the run, if the options ask for that. @returns A function that stops it. */
  listen(options: CheckpointOptions | undefined, context: BoundaryContext): () => void {
    if (!(options?.preemption ?? options !== undefined)) return () => {};
    const { collective, joinable, pipeline, checkpoints, bus } = context;
    const preemption = new Preemption({
      collective,
      isJoining: () => joinable.isJoining,
      activity: () => pipeline.updates.activity,
      save: () => checkpoints.save(undefined, { async: false }),
      beforeExit: () => bus.finish('aborted'),
    });
    this.#preemption = preemption;
    return () => {
      preemption.dispose();
      this.#preemption = undefined;
    };
  }
}
