import type { Pending } from '@acc/contract';

/** Native work. */
export interface Waitable {
  readonly isDone: boolean;
  wait(): void;
}

/** The result of native work: made when it is first waited for. */
export class WorkResult<T> implements Pending<T> {
  #result: { value: T } | { error: unknown } | undefined;

  constructor(
    private readonly work: Waitable,
    private readonly finish: () => T,
  ) {}

  get isDone(): boolean {
    return this.#result !== undefined || this.work.isDone;
  }

  wait(): T {
    this.#result ??= this.#end();
    if ('error' in this.#result) throw this.#result.error;
    return this.#result.value;
  }

  #end(): { value: T } | { error: unknown } {
    try {
      this.work.wait();
      return { value: this.finish() };
    } catch (error) {
      return { error };
    }
  }
}

/** A result that is there already. */
export function done<T>(value: T): Pending<T> {
  return { isDone: true, wait: () => value };
}

/** Several that end together. */
export function all<T>(parts: readonly Pending<T>[]): Pending<T[]> {
  const work = {
    get isDone() {
      return parts.every((part) => part.isDone);
    },
    wait: () => {},
  };
  return new WorkResult(work, () => parts.map((part) => part.wait()));
}
