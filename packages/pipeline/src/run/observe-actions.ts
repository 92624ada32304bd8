import type { Action } from '../schedule/action.js';

/** When a rank took an action of a pipelined step. */
export interface ObservedAction extends Action {
  /** The times of its start and end, in milliseconds of `performance.now`. */
  readonly start: number;
  readonly end: number;
  /** How much of it the rank waited for messages of other stages, in milliseconds. */
  readonly waited: number;
}

/** @param actions What this rank did in a step, in order. */
export type ActionObserver = (actions: readonly ObservedAction[]) => void;

let observer: ActionObserver | undefined;

/**
 * Calls `given` after every pipelined step of this process, on a CPU with the times of what was
 * computed; on a GPU the work may then still be running. Undefined ends it. It is meant for profiles:
 * there is one observer at a time.
 */
export function observeActions(given: ActionObserver | undefined): void {
  observer = given;
}

/** Runs actions, and tells the observer, if there is one. */
export function runObserved(
  actions: readonly Action[],
  act: (action: Action) => void,
  waitedMs: () => number,
): void {
  const tell = observer;
  if (!tell) return actions.forEach(act);
  const observed = actions.map((action) => {
    const [start, waitedBefore] = [performance.now(), waitedMs()];
    act(action);
    return { ...action, start, end: performance.now(), waited: waitedMs() - waitedBefore };
  });
  tell(observed);
}
