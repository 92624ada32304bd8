/** Which micro-batches close a window: every `steps`-th, counted from the one that closed the window before, and the last. */
export class Window {
  #done = 0;

  constructor(readonly steps: number) {}

  /** Counts one more micro-batch; true when it closes the window. */
  next(isLast: boolean): boolean {
    this.#done = isLast || this.#done + 1 >= this.steps ? 0 : this.#done + 1;
    return this.#done === 0;
  }

  /** Micro-batches since the last window closed. */
  get done(): number {
    return this.#done;
  }

  /** The next micro-batch is the first of a window, or that after the first `done`. */
  reset(done = 0): void {
    this.#done = done;
  }
}
