import type { Pending } from './collective.js';

/** What takes part in a {@link PendingResult}. */
type Part = Pick<Pending<unknown>, 'isDone'>;

/**
 * What is made of things under way when it is first waited for. A class, since a getter in an object literal costs V8 a hidden
 * class for each object, which only its slow collections free.
 */
export class PendingResult<T> implements Pending<T> {
  #result: { readonly value: T } | { readonly error: unknown } | undefined;

  /**
   * @param parts It is done when all of them are.
   * @param make Called once, to wait for them and give the result. What it throws every `wait` throws.
   */
  constructor(
    private readonly parts: readonly Part[],
    private readonly make: () => T,
  ) {}

  get isDone(): boolean {
    return this.#result !== undefined || this.parts.every((part) => part.isDone);
  }

  wait(): T {
    this.#result ??= this.#made();
    if ('error' in this.#result) throw this.#result.error;
    return this.#result.value;
  }

  #made(): { readonly value: T } | { readonly error: unknown } {
    try {
      return { value: this.make() };
    } catch (error) {
      return { error };
    }
  }
}

/** What `make` gives for the results of all of `parts`, in their order. */
export function afterAll<T, R>(
  parts: readonly Pending<T>[],
  make: (...results: NoInfer<T>[]) => R,
): Pending<R> {
  return new PendingResult(parts, () => make(...parts.map((part) => part.wait())));
}

/** The results of all of `parts`, in their order. */
export function allPending<T>(parts: readonly Pending<T>[]): Pending<T[]> {
  return afterAll(parts, (...results) => results);
}
