import { AccError } from '@acc/contract';

/**
 * The stages of an Accelerator: `freeMemory` ends training, and `endTraining` also ends
 * collectives.
 */
export class Lifetime {
  #stage: 'running' | 'freed' | 'ended' = 'running';

  get isRunning(): boolean {
    return this.#stage === 'running';
  }

  get hasEnded(): boolean {
    return this.#stage === 'ended';
  }

  free(): void {
    if (this.isRunning) this.#stage = 'freed';
  }

  end(): void {
    this.#stage = 'ended';
  }

  /** @throws AccError `ACC_ACCELERATOR_FREED`, `ACC_TRAINING_ENDED`. */
  requireRunning(method: string): void {
    this.requireJob(method);
    if (this.isRunning) return;
    throw new AccError('ACC_ACCELERATOR_FREED', `${method}() was called after freeMemory().`, {
      help: 'Create another with await Accelerator.create(…), and prepare the objects with it.',
    });
  }

  /** @throws AccError `ACC_TRAINING_ENDED`. */
  requireJob(method: string): void {
    if (!this.hasEnded) return;
    throw new AccError('ACC_TRAINING_ENDED', `${method}() was called after endTraining().`, {
      help: 'Call endTraining() once, at the end of the program. Between two Accelerators, call freeMemory() instead.',
    });
  }
}
