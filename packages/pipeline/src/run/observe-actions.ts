import type { Action } from '@acc/planner/schedules';

/** When a rank took an action of a pipelined step. */
export interface ObservedAction extends Action {
  /** The times of its start and end, in milliseconds of `performance.now`. */
  readonly start: number;
  readonly end: number;
  /** How much of it the rank waited for messages of other stages, in milliseconds. */
  readonly waited: number;
  /** When it began to send its result to the next rank. Undefined if it sent none. */
  readonly sent: number | undefined;
}

/** The times of messages during the running action. */
export interface MessageTimes {
  /** How long this rank has waited for tensors, in milliseconds. */
  readonly waitedMs: number;
  /** When it last began to send a tensor, in milliseconds of `performance.now`. */
  readonly lastSent: number;
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
  times: () => MessageTimes,
): void {
  const tell = observer;
  if (!tell) return actions.forEach(act);
  const observed = actions.map((action) => {
    const [start, waitedBefore] = [performance.now(), times().waitedMs];
    act(action);
    const { waitedMs, lastSent } = times();
    const sent = lastSent >= start ? lastSent : undefined;
    return { ...action, start, end: performance.now(), waited: waitedMs - waitedBefore, sent };
  });
  tell(observed);
}
