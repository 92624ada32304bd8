import type { Tensor } from '@tensorflow/tfjs-core';
import type { Fusion, Recorder } from '@acc/contract';
import { Family, type FamilyKey } from './family.js';
import { firstChange, flatten, withTensors, type Flattened } from './nested-values.js';
import { MAX_VARIANTS, TOO_MANY, Variant } from './variant.js';

/** The largest number of different arguments, apart from values of tensors, that are remembered. */
const MAX_REMEMBERED = 256;

export interface VariantsContext {
  readonly recorder: Recorder;
  readonly fuse: Fusion;
  /** See `CompileContext.surroundings`. */
  readonly surroundings: string;
  readonly onRefused: (reason: string) => void;
}

/** A variant of a step, and the tensors of the arguments for which it was found. */
export interface FoundVariant<R> {
  readonly variant: Variant<R>;
  readonly tensors: readonly Tensor[];
  /**
   * Remembers the arguments. The result returns where the step changed an array or a record of them
   * since then, as text; undefined if it did not.
   */
  watchArguments(): () => string | undefined;
}

/** The recordings of a step, by kind of arguments. */
export class Variants<R> {
  /** The least recently used first. */
  readonly #variants = new Map<string, Variant<R>>();
  readonly #families = new Map<string, Family>();
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

  /**
   * The variant for some arguments. Refuses and returns undefined if they cannot be compared, or if
   * there are too many kinds of arguments.
   */
  of(args: readonly unknown[], context: VariantsContext): FoundVariant<R> | undefined {
    const { tensors, foreign, ...keys } = flatten(args);
    if (foreign !== undefined) {
      return void context.onRefused(
        `its arguments contain a ${foreign}, but only tensors, plain values, arrays and records are supported`,
      );
    }
    const variant = this.#variantOf(keys, context);
    const watchArguments = () => {
      const before = args.map((arg) => withTensors(arg, (tensor) => tensor));
      return () => before.map((arg, i) => firstChange(arg, args[i], `argument ${i + 1}`)).find(Boolean);
    };
    return variant && { variant, tensors, watchArguments };
  }

  /** For each recording which arguments it serves and what its replays fuse, as text for people. */
  explanations(): string[] {
    return [...this.#families.values()].flatMap((family) => family.explanations());
  }

  /** For other arguments why they are not replayed. */
  unreplayed(): string[] {
    return [...this.#variants.values()].flatMap((variant) => variant.unreplayed ?? []);
  }

  /** Frees the recordings. Later calls are recorded again. */
  forget(): void {
    for (const variant of this.#variants.values()) this.#discard(variant);
    this.#variants.clear();
    this.#families.clear();
  }

  #variantOf(
    { key, kind, sizes }: Pick<Flattened, 'key' | 'kind' | 'sizes'>,
    { recorder, fuse, surroundings, onRefused }: VariantsContext,
  ): Variant<R> | undefined {
    const full = `${key}|${surroundings}`;
    const known = this.#variants.get(full);
    if (known) {
      this.#variants.delete(full);
      this.#variants.set(full, known);
      return known;
    }
    const family = this.#familyOf({ kind, surroundings }, fuse);
    if (!family) return void onRefused(TOO_MANY);
    const variant = new Variant<R>({ recorder, family, sizes, onRefused });
    this.#variants.set(full, variant);
    if (this.#variants.size > MAX_REMEMBERED) this.#forgetOldest();
    return variant;
  }

  #familyOf(of: FamilyKey, fuse: Fusion): Family | undefined {
    const key = `${of.kind}|${of.surroundings}`;
    const known = this.#families.get(key);
    if (known || this.#families.size >= MAX_VARIANTS) return known;
    const family = new Family(of, fuse, () => this.#hasRoom());
    this.#families.set(key, family);
    return family;
  }

  #hasRoom(): boolean {
    const attempts = [...this.#families.values()].reduce((sum, family) => sum + family.attempts, 0);
    return attempts < MAX_VARIANTS;
  }

  #forgetOldest(): void {
    const [key, variant] = this.#variants.entries().next().value!;
    this.#discard(variant);
    this.#variants.delete(key);
  }

  #discard(variant: Variant<R>): void {
    const { replays, failedReplays } = variant;
    this.#before = {
      replays: this.#before.replays + replays,
      failedReplays: this.#before.failedReplays + failedReplays,
    };
    variant.dispose();
  }

  #sumOf(count: 'replays' | 'failedReplays'): number {
    return [...this.#variants.values()].reduce((sum, variant) => sum + variant[count], this.#before[count]);
  }
}
