import type { OperatorArgument } from './call-buffer.js';

/**
 * @param name The full name of the operator.
 * @param args The arguments. They are borrowed, and only valid during the call.
 * @param ms The time in the addon until the call returned, in milliseconds. On a GPU the work may
 * then still be running.
 */
export type CallObserver = (name: string, args: readonly OperatorArgument[], ms: number) => void;

/** Read at each call. Undefined unless a profile is being taken. */
export let callObserver: CallObserver | undefined;

/**
 * Calls `observer` after every operator call of this process. Undefined ends it. Calls of a replay,
 * and calls that throw, are not reported. It is meant for profiles. There is one observer at a time,
 * which must not call operators itself.
 *
 * @returns The observer that it replaces. A second observer calls that one, and puts it back.
 */
export function observeCalls(observer: CallObserver | undefined): CallObserver | undefined {
  const before = callObserver;
  callObserver = observer;
  return before;
}
