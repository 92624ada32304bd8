import type { OperatorArgument } from './call-buffer.js';

/**
 * @param name The full name of the operator.
 * @param args The arguments. They are borrowed, and only valid during the call.
 * @param ms The time in the addon until the call returned, in milliseconds. On a GPU the work may
 * then still be running.
 */
export type CallObserver = (name: string, args: readonly OperatorArgument[], ms: number) => void;

/** Read at each call. Undefined unless somebody observes calls. */
export let callObserver: CallObserver | undefined;

const observers = new Set<CallObserver>();

/**
 * Calls `observer` after every operator call of this process. Calls of a replay, and calls that throw,
 * are not reported. It is meant for profiles, and must not call operators itself.
 *
 * @returns Removes this observer, whatever came and went meanwhile.
 */
export function observeCalls(observer: CallObserver): () => void {
  // The same function may be added twice.
  const own: CallObserver = (...call) => observer(...call);
  observers.add(own);
  combine();
  return () => {
    observers.delete(own);
    combine();
  };
}

function combine(): void {
  const all = [...observers];
  callObserver = all.length > 1 ? (...call) => all.forEach((observer) => observer(...call)) : all[0];
}
