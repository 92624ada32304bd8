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
    if (this.hasEnded) throw trainingHasEnded(`${method}() was called`);
  }
}

/** @param what Without the words that the training had ended. */
export function trainingHasEnded(what: string): AccError {
  return new AccError('ACC_TRAINING_ENDED', `${what} after endTraining().`, {
    help: 'Call endTraining() once, at the end of the program, when every fit() has been awaited. Between two Accelerators, call freeMemory() instead.',
  });
}
