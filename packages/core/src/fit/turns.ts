import { AsyncContext } from '#platform/async-context';
import { AccError } from '@acc/contract';

/** A running turn, or the program outside all turns. */
class Turn {
  /** Resolves when all turns that were requested inside this one have ended. */
  queue: Promise<void> = Promise.resolve();
  /** Whether a turn runs inside this one. There is at most one. */
  isTaken = false;
  hasEnded = false;

  constructor(readonly outer: Turn | undefined) {}
}

/**
 * Runs trainings that use many collectives one after another, in the order of their calls, which is
 * the same on every rank. If their steps were interleaved, timing would decide their order, and
 * ranks would differ. A call inside a turn, for example in a callback of `fit`, takes its turn
 * inside it, because the outer one waits for it.
 */
export class Turns {
  readonly #program = new Turn(undefined);
  readonly #context = new AsyncContext<Turn>();

  /** @param isNeeded False: every function runs at once. */
  constructor(readonly isNeeded: boolean) {}

  /** Whether a turn is running and the caller is not inside it. */
  get isOutside(): boolean {
    return this.#program.isTaken && this.#here() === this.#program;
  }

  /** Whether a call inside a turn is told apart from calls elsewhere. */
  get tellsCallers(): boolean {
    return this.#context.tellsCallers;
  }

  /** Whether the caller is inside a turn. */
  get isWithin(): boolean {
    return this.#here() !== this.#program;
  }

  /**
   * @throws AccError `ACC_FIT_UNDER_WAY` if a turn is running elsewhere. Ranks would run `what` at
   * different steps of it.
   */
  requireOwn(what: () => string): void {
    if (!this.isOutside) return;
    throw new AccError(
      'ACC_FIT_UNDER_WAY',
      `${what()} while a fit or evaluateDataset is running. Each rank would reach it at a different step.`,
      { help: 'Await the running one first, or train in one of its callbacks.' },
    );
  }

  /** Runs `fn` when it is its turn. The turn ends when the promise settles. */
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
      return await this.#context.run(own, fn);
    } finally {
      own.hasEnded = true;
      outer.isTaken = false;
      end();
    }
  }

  /**
   * The turn that contains the caller. Code that a callback left running may outlive its own turn.
   */
  #here(): Turn {
    let turn = this.#context.current();
    while (turn?.hasEnded) turn = turn.outer;
    return turn ?? this.#program;
  }
}
