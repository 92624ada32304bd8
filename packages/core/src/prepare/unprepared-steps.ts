import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/** The steps after which the warning does not wait for the end of the training. */
const MANY_STEPS = 100;

/**
 * Watches the steps of optimizers in a job of several ranks that has prepared nothing. Each rank then
 * trains a model of its own, which is rarely meant. The first steps may come before `prepare`, so
 * the warning comes after many steps, or at the end. There is none if the program averages gradients
 * or weights by itself.
 */
export class UnpreparedSteps {
  readonly #job: Pick<Collective, 'rank' | 'size'>;
  readonly #isNothingPrepared: () => boolean;
  readonly #onExit = (code: number) => code === 0 && this.end();
  #steps = 0;
  #isTold = false;
  /** The number of elements of the largest gradient. */
  #largest = 0;
  /** The number of elements of the largest tensor that the program sent to other ranks. */
  #largestSent = 0;

  /** @param isNothingPrepared Whether no model, no variables and no optimizer were prepared. */
  constructor(job: Pick<Collective, 'rank' | 'size'>, isNothingPrepared: () => boolean) {
    this.#job = job;
    this.#isNothingPrepared = isNothingPrepared;
  }

  /** An optimizer that was not prepared applies gradients on this rank. */
  took(grads: readonly Tensor[]): void {
    if (this.#isTold || !this.#isNothingPrepared()) return;
    if (this.#steps === 0) process.once('exit', this.#onExit);
    this.#steps++;
    for (const { size } of grads) this.#largest = Math.max(this.#largest, size);
    if (this.#steps >= MANY_STEPS) this.#tell();
  }

  /** The program sends a tensor to other ranks by itself. */
  sent({ size }: Tensor): void {
    this.#largestSent = Math.max(this.#largestSent, size);
  }

  /** The training ends. */
  end(): void {
    process.off('exit', this.#onExit);
    if (this.#steps > 0) this.#tell();
  }

  #tell(): void {
    if (this.#isTold || this.#largestSent >= this.#largest || !this.#isNothingPrepared()) return;
    this.#isTold = true;
    if (this.#job.rank > 0) return;
    console.warn(
      `acc: no model and no optimizer is prepared, so each of the ${this.#job.size} ranks trains a model of its own. Give both to accelerator.prepare before the loop. If each rank is to train alone, take its steps inside accelerator.noSync.`,
    );
  }
}
