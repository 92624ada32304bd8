/**
 * The order in which a pass uses units, learned from the pass before. Uses of the same unit that
 * follow each other count once.
 */
export class UseOrder<Unit> {
  #known: readonly Unit[] = [];
  #seen: Unit[] = [];
  /** The place of the last use in the known order; -1 before the first, NaN if uses differ from it. */
  #at = -1;

  /**
   * @param longest The largest number of uses that are remembered for a pass. A program that only
   * predicts never ends a pass.
   */
  constructor(private readonly longest: () => number) {}

  note(unit: Unit): void {
    if (this.#seen.at(-1) === unit) return;
    const follows = this.#known[this.#at + 1] === unit;
    if (!follows && this.#known[0] === unit) {
      // A forward pass begins again: the one before was for a prediction.
      this.#seen = [];
      this.#at = -1;
    }
    this.#at = follows || this.#at === -1 ? this.#at + 1 : NaN;
    if (this.#known[this.#at] !== unit) this.#at = NaN;
    if (this.#seen.length < this.longest()) this.#seen.push(unit);
  }

  /** The next units that will be used, if the pass is like the one before. */
  next(count: number): readonly Unit[] {
    return Number.isNaN(this.#at) ? [] : this.#known.slice(this.#at + 1, this.#at + 1 + count);
  }

  /** Forgets a unit. The pass that is under way then has no known order. */
  forget(unit: Unit): void {
    if (!this.#known.includes(unit) && !this.#seen.includes(unit)) return;
    this.#known = [];
    this.#seen = [];
    this.#at = -1;
  }

  /** A pass has ended. */
  end(): void {
    this.#known = this.#seen;
    this.#seen = [];
    this.#at = -1;
  }
}
