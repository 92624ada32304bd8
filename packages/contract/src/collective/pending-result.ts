import type { Pending } from './collective.js';

/** The members of a handle that {@link PendingResult} uses. */
type Handle = Pick<Pending<unknown>, 'isDone'>;

/**
 * A result that is created from pending work when it is first waited for. It is a class, because V8
 * creates a hidden class for each object literal with a getter, and frees them only in slow garbage
 * collections.
 */
export class PendingResult<T> implements Pending<T> {
  #result: { readonly value: T } | { readonly error: unknown } | undefined;

  /**
   * @param handles The result is done when all of them are.
   * @param make Called once. It waits for the handles and returns the result. Every `wait` throws
   * the error that it throws.
   */
  constructor(
    private readonly handles: readonly Handle[],
    private readonly make: () => T,
  ) {}

  get isDone(): boolean {
    return this.#result !== undefined || this.handles.every((handle) => handle.isDone);
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

/** The result of `make`, which gets the results of all `handles` in order. */
export function afterAll<T, R>(
  handles: readonly Pending<T>[],
  make: (...results: NoInfer<T>[]) => R,
): Pending<R> {
  return new PendingResult(handles, () => make(...handles.map((handle) => handle.wait())));
}

/** The results of all `handles`, in order. */
export function allPending<T>(handles: readonly Pending<T>[]): Pending<T[]> {
  return afterAll(handles, (...results) => results);
}
