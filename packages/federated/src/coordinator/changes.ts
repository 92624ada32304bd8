/** Resumes all waiting tasks after a change, so that each checks its condition again. */
export class Changes {
  #wake: (() => void) | undefined;
  #next: Promise<void> | undefined;

  notify(): void {
    this.#wake?.();
    this.#wake = undefined;
    this.#next = undefined;
  }

  /** Resolves at the next change. */
  next(): Promise<void> {
    this.#next ??= new Promise((resolve) => (this.#wake = resolve));
    return this.#next;
  }
}
