import type { Pending } from './collective.js';

/** The part of a handle that {@link PendingResult} uses. */
type Part = Pick<Pending<unknown>, 'isDone'>;

/**
 * A result that is created from pending work when it is first waited for. It is a class, because V8
 * creates a hidden class for each object literal with a getter, and frees them only in slow garbage
 * collections.
 */
export class PendingResult<T> implements Pending<T> {
  #result: { readonly value: T } | { readonly error: unknown } | undefined;

  /**
   * @param parts The result is done when all of them are.
   * @param make Called once. It waits for the parts and returns the result. Every `wait` throws the
   * error that it throws.
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

/** The result of `make`, which gets the results of all `parts` in order. */
export function afterAll<T, R>(
  parts: readonly Pending<T>[],
  make: (...results: NoInfer<T>[]) => R,
): Pending<R> {
  return new PendingResult(parts, () => make(...parts.map((part) => part.wait())));
}

/** The results of all `parts`, in order. */
export function allPending<T>(parts: readonly Pending<T>[]): Pending<T[]> {
  return afterAll(parts, (...results) => results);
}
