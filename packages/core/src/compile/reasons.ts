/** Why a step runs plainly. Each reason is warned of once. */
export class Reasons {
  readonly #warned = new Set<string>();
  #found: string | undefined;
  #ofBackend: string | undefined;

  /** That of the active backend, else the first one that was found; undefined while nothing is in the way. */
  get current(): string | undefined {
    return this.#ofBackend ?? this.#found;
  }

  /** For good, for the arguments that it was found for. */
  readonly refuse = (why: string): void => {
    if (this.#found !== undefined) return;
    this.#found = why;
    this.#warn(why);
  };

  /** While a backend is active that records no steps; undefined once one is that does. */
  setBackend(why: string | undefined): void {
    this.#ofBackend = why;
    if (why !== undefined) this.#warn(why);
  }

  #warn(why: string): void {
    if (this.#warned.has(why)) return;
    this.#warned.add(why);
    console.warn(`acc: a compiled step runs without being replayed: ${why}.`);
  }
}
