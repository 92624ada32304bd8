import { AsyncLocalStorage } from 'node:async_hooks';
import { AccError } from '@acc/contract';

/** A turn under way, or the program around all turns. */
class Turn {
  /** Ends when the last of the turns that were asked for in it has ended. */
  queue: Promise<void> = Promise.resolve();
  /** Turns that go on in it, of which there is one at most. */
  isTaken = false;
  hasEnded = false;

  constructor(readonly outer: Turn | undefined) {}
}

/**
 * Trainings over which ranks meet many times run one after the other, in the order in which they were called, which is every
 * rank's: taken in turns by their steps they would go in an order that timing decides. What is called within a turn, by a
 * callback of `fit` say, takes its turn there, since that one waits for it.
 */
export class Turns {
  readonly #program = new Turn(undefined);
  readonly #storage = new AsyncLocalStorage<Turn>();

  /** @param isNeeded False: everything runs when it is called. */
  constructor(readonly isNeeded: boolean) {}

  /** A turn goes on, and the caller is not within it. */
  get isOutside(): boolean {
    return this.#program.isTaken && this.#here() === this.#program;
  }

  /** The caller is within a turn. */
  get isWithin(): boolean {
    return this.#here() !== this.#program;
  }

  /** @throws AccError `ACC_FIT_UNDER_WAY` for `what`, which ranks would do at different places of a turn that goes on elsewhere. */
  requireOwn(what: () => string): void {
    if (!this.isOutside) return;
    throw new AccError(
      'ACC_FIT_UNDER_WAY',
      `${what()} while a fit or evaluateDataset goes on: each rank would come to it at another step of that one.`,
      { help: 'Await that one first, or train in one of its callbacks.' },
    );
  }

  /** Runs `fn` when it is its turn. The turn ends with the promise, whatever becomes of it. */
  async take<T>(fn: () => Promise<T>): Promise<T> {
    if (!this.isNeeded) return fn();
    const outer = this.#here();
    const own = new Turn(outer);
    const before = outer.queue;
    let end!: () => void;
    outer.queue = new Promise((resolve) => (end = resolve));
    await before;
    outer.isTaken = true;
    try {
      return await this.#storage.run(own, fn);
    } finally {
      own.hasEnded = true;
      outer.isTaken = false;
      end();
    }
  }

  /** The turn that the caller is in. What a callback has left behind may outlive its own. */
  #here(): Turn {
    let turn = this.#storage.getStore();
    while (turn?.hasEnded) turn = turn.outer;
    return turn ?? this.#program;
  }
}
