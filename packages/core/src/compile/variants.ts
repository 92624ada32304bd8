import type { Recorder } from '@acc/contract';
import { Variant } from './variant.js';

/** Kinds of arguments that one step is recorded for. */
export const MAX_VARIANTS = 8;

/** What a step was recorded as, by kind of arguments. */
export class Variants<R> {
  readonly #variants = new Map<string, Variant<R>>();
  /** Of variants that were forgotten. */
  #before = { replays: 0, failedReplays: 0 };

  /** Calls so far that were replays. */
  get replays(): number {
    return this.#sumOf('replays');
  }

  /** Replays so far that failed, in calls that then ran plainly. */
  get failedReplays(): number {
    return this.#sumOf('failedReplays');
  }

  /** Undefined where there are too many. */
  of(key: string, recorder: Recorder, onRefused: (reason: string) => void): Variant<R> | undefined {
    const known = this.#variants.get(key);
    if (known || this.#variants.size >= MAX_VARIANTS) return known;
    const variant = new Variant<R>({ recorder, onRefused });
    this.#variants.set(key, variant);
    return variant;
  }

  /** Frees the recordings; what is called later is recorded anew. */
  forget(): void {
    this.#before = { replays: this.replays, failedReplays: this.failedReplays };
    for (const variant of this.#variants.values()) variant.dispose();
    this.#variants.clear();
  }

  #sumOf(count: 'replays' | 'failedReplays'): number {
    return [...this.#variants.values()].reduce((sum, variant) => sum + variant[count], this.#before[count]);
  }
}
