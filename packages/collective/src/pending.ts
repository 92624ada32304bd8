import type { Pending } from '@acc/contract';

interface Waitable {
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
