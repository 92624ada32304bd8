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

/** The observer of {@link observeCalls}. */
const single: { observer?: CallObserver | undefined } = {};
/** The observers of {@link addCallObserver}. */
const others = new Set<CallObserver>();

/**
 * Calls `observer` after every operator call of this process. Undefined ends it. Calls of a replay,
 * and calls that throw, are not reported. It is meant for profiles: there is one observer at a
 * time, which must not call operators itself.
 */
export function observeCalls(observer: CallObserver | undefined): void {
  single.observer = observer;
  combine();
}

/**
 * Like {@link observeCalls}, for an observer beside others.
 *
 * @returns Removes this observer, whatever came and went meanwhile.
 */
export function addCallObserver(observer: CallObserver): () => void {
  // The same function may be added twice.
  const own: CallObserver = (...call) => observer(...call);
  others.add(own);
  combine();
  return () => {
    others.delete(own);
    combine();
  };
}

function combine(): void {
  const all = [...(single.observer ? [single.observer] : []), ...others];
  callObserver = all.length > 1 ? (...call) => all.forEach((observer) => observer(...call)) : all[0];
}
