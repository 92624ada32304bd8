/** Wakes waiting tasks when something has changed. */
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
