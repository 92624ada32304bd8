import type { Pending } from '@acc/contract';

/** What `finish` makes of the results of `pending`, when it is first waited for. */
export function afterAll<T, R>(pending: readonly Pending<T>[], finish: (...values: T[]) => R): Pending<R> {
  let result: { value: R } | undefined;
  return {
    get isDone() {
      return result !== undefined || pending.every((each) => each.isDone);
    },
    wait() {
      result ??= { value: finish(...pending.map((each) => each.wait())) };
      return result.value;
    },
  };
}
