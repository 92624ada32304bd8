/**
 * Decides which micro-batches close a window: every `steps`-th since the last window closed, and
 * the last one of the data.
 */
export class Window {
  #done = 0;

  constructor(readonly steps: number) {}

  /** Counts one more micro-batch. Returns true if it closes the window. */
  next(isLast: boolean): boolean {
    this.#done = isLast || this.#done + 1 >= this.steps ? 0 : this.#done + 1;
    return this.#done === 0;
  }

  /** The number of micro-batches since the last window closed. */
  get done(): number {
    return this.#done;
  }

  /** Continues after the first `done` micro-batches of a window. */
  reset(done = 0): void {
    this.#done = done;
  }
}
