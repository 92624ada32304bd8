import type { Variable } from '@tensorflow/tfjs-core';
import type { TapeHooks } from '@acc/contract';
import type { Unit } from '@acc/placement';

/**
 * Lets recorded steps wait for whole values that are on their way (stages 1 and 2). A plain step
 * waits within the first kernel that takes a variable of the unit. A recorded one waits before it, and
 * does so for each unit once, whether its values are there or not: a replay may find other ones there.
 */
export class Arrival {
  readonly #waited = new Set<Unit>();

  constructor(
    private readonly unitsWith: (variables: readonly Variable[]) => readonly Unit[],
    private readonly isRecording: () => boolean,
  ) {}

  readonly hooks: TapeHooks = {
    what: 'waiting for gathered parameters',
    isIdle: () => !this.isRecording(),
    isInert: (variables) => this.unitsWith(variables).every((unit) => this.#waited.has(unit)),
    before: (variables) => {
      for (const unit of this.unitsWith(variables)) {
        unit.gather('reading');
        this.#waited.add(unit);
      }
    },
    end: () => this.begin(),
  };

  /** Whole values are on their way again, or another pass begins. */
  begin(): void {
    this.#waited.clear();
  }
}
