import { AccError } from '@acc/contract';

/**
 * A browser does not tell which function started a piece of work. So all work counts as started by
 * the function that runs, and there is only one at a time.
 */
export class AsyncContext<T> {
  readonly tellsCallers = false;
  #value: T | undefined;

  /** @throws AccError `ACC_FIT_UNDER_WAY` while another function runs. */
  async run<R>(value: T, fn: () => Promise<R>): Promise<R> {
    if (this.#value !== undefined) {
      throw new AccError(
        'ACC_FIT_UNDER_WAY',
        'A page accumulates the gradients of one fit, fitDataset or evaluateDataset at a time, also in callbacks.',
        { help: 'Await the running one first. Without gradientAccumulationSteps, several may run.' },
      );
    }
    this.#value = value;
    try {
      return await fn();
    } finally {
      this.#value = undefined;
    }
  }

  current(): T | undefined {
    return this.#value;
  }
}
