import { AccError } from '@acc/contract';
import { UNAVAILABLE } from './errors.js';

export function isPending(outcome: unknown): outcome is Promise<unknown> {
  return typeof (outcome as Promise<unknown> | undefined)?.then === 'function';
}

/**
 * The outcome, or, when that takes longer than `limitMs`, an error that asks for another try; the call is told by `controller`.
 * A process with nothing else to do doesn't stay for it.
 */
export function callWithin<T>(outcome: Promise<T>, limitMs: number, controller: AbortController): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const seconds = Math.round(limitMs / 1000);
      reject(new AccError(UNAVAILABLE, `a call did not end within ${seconds} s.`));
      controller.abort();
    }, limitMs);
    timer.unref();
    outcome.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
