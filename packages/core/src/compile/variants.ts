import { Variant, type VariantContext } from './variant.js';

/** The largest number of argument kinds for which one step is recorded. */
export const MAX_VARIANTS = 8;

/** The recordings of a step, by kind of arguments. */
export class Variants<R> {
  readonly #variants = new Map<string, Variant<R>>();
  /** The counts of discarded variants. */
  #before = { replays: 0, failedReplays: 0 };

  /** The number of calls that were replays. */
  get replays(): number {
    return this.#sumOf('replays');
  }

  /** The number of failed replays, in calls that then ran normally. */
  get failedReplays(): number {
    return this.#sumOf('failedReplays');
  }

  /** The variant for a key. Undefined if there are too many. */
  of(key: string, context: VariantContext): Variant<R> | undefined {
    const known = this.#variants.get(key);
    if (known || this.#variants.size >= MAX_VARIANTS) return known;
    const variant = new Variant<R>(context);
    this.#variants.set(key, variant);
    return variant;
  }

  /** What the replays of each kind of arguments fuse, by the key of the kind. */
  explanations(): [key: string, explanation: string][] {
    return [...this.#variants].flatMap(([key, { explanation }]) =>
      explanation === undefined ? [] : [[key, explanation] as [string, string]],
    );
  }

  /** Frees the recordings. Later calls are recorded again. */
  forget(): void {
    this.#before = { replays: this.replays, failedReplays: this.failedReplays };
    for (const variant of this.#variants.values()) variant.dispose();
    this.#variants.clear();
  }

  #sumOf(count: 'replays' | 'failedReplays'): number {
    return [...this.#variants.values()].reduce((sum, variant) => sum + variant[count], this.#before[count]);
  }
}
