import { AsyncLocalStorage } from 'node:async_hooks';

/** A value for everything that a function starts, also after its awaits. */
export class AsyncContext<T> {
  /** Whether work that a function starts is told apart from work of others. */
  readonly tellsCallers = true;
  readonly #storage = new AsyncLocalStorage<T>();

  run<R>(value: T, fn: () => Promise<R>): Promise<R> {
    return this.#storage.run(value, fn);
  }

  current(): T | undefined {
    return this.#storage.getStore();
  }
}
