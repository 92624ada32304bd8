import { AccError } from '@acc/contract';
import { unref } from '@acc/platform';
import { UNAVAILABLE } from './errors.js';

export function isPending(outcome: unknown): outcome is Promise<unknown> {
  return typeof (outcome as Promise<unknown> | undefined)?.then === 'function';
}

/**
 * Resolves with the outcome, or rejects with an error that allows a retry after `limitMs`
 * milliseconds. It then aborts the call by `controller`. The timer does not keep the process alive.
 */
export function callWithin<T>(outcome: Promise<T>, limitMs: number, controller: AbortController): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const seconds = Math.round(limitMs / 1000);
      const help = 'Check the connection to the service. The call is repeated.';
      reject(new AccError(UNAVAILABLE, `a call did not end within ${seconds} s.`, { help }));
      controller.abort();
    }, limitMs);
    unref(timer);
    outcome.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
