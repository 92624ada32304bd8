import type { OperatorArgument } from './call-buffer.js';

/**
 * @param name The operator's full name.
 * @param args As the caller gave them; borrowed, and valid only meanwhile.
 * @param ms Wall time in the addon, until the call returned. On a GPU the work may still be under way then.
 */
export type CallObserver = (name: string, args: readonly OperatorArgument[], ms: number) => void;

/** Read at each call; undefined but while somebody profiles. */
export let callObserver: CallObserver | undefined;

/**
 * Has `observer` told of every operator call of this process from now on, after the call; undefined ends it. Calls
 * that a replay repeats are not among them. For profiles: one observer at a time; it calls no operator itself, and does not hear of calls that throw.
 */
export function observeCalls(observer: CallObserver | undefined): void {
  callObserver = observer;
}
