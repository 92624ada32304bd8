/** Runs `fn` and then `after`. If `fn` returns a promise, `after` runs when it settles. */
export function finallyAfter<T>(fn: () => T, after: () => void): T {
  let result: T;
  try {
    result = fn();
  } catch (error) {
    after();
    throw error;
  }
  if (result instanceof Promise) return result.finally(after) as T;
  after();
  return result;
}
