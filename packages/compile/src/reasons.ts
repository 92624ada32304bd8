/** The reasons why a step runs without replay. Each reason causes one warning. */
export class Reasons {
  readonly #warned = new Set<string>();
  #found: string | undefined;
  #ofBackend: string | undefined;

  /** The reason of the active backend, else the first reason found. Undefined if there is none. */
  get current(): string | undefined {
    return this.#ofBackend ?? this.#found;
  }

  /** Adds a permanent reason, for the arguments with which it was found. */
  readonly refuse = (why: string): void => {
    if (this.#found !== undefined) return;
    this.#found = why;
    this.#warn(why);
  };

  /** Sets the reason while the active backend cannot record steps. Undefined removes it. */
  setBackend(why: string | undefined): void {
    this.#ofBackend = why;
    if (why !== undefined) this.#warn(why);
  }

  #warn(why: string): void {
    if (this.#warned.has(why)) return;
    this.#warned.add(why);
    console.warn(`acc: a compiled step runs without replay: ${why}.`);
  }
}
