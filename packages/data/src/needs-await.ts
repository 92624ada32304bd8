import { readWithoutAwait } from './errors.js';

/**
 * Makes `for (… of …)` without `await` say what is missing. It is no member of the type, so that TypeScript
 * refuses such a loop, too.
 */
export function needsAwait<T extends object>(readable: T): T {
  const value = (): never => {
    throw readWithoutAwait();
  };
  return Object.defineProperty(readable, Symbol.iterator, { value });
}
