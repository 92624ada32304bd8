/** The idle time of a pipelined step, from what each rank did. */
import { performance } from 'node:perf_hooks';
import {
  simulate,
  type Action,
  type ActionCosts,
  type ActionKind,
  type ObservedAction,
  type Schedule,
} from '@acc/pipeline';

export interface Bubble {
  /** The idle time of the rank that is idle longest, relative to the time that it computes. */
  readonly measured: number;
  /** The same by the table of the schedule, if each action takes the mean time of its kind. */
  readonly simulated: number;
  /** The same if each takes the mean time of its kind in its stage: stages differ in work. */
  readonly simulatedByStage: number;
  /** The mean time of each kind of action, in milliseconds. */
  readonly costs: ActionCosts;
}

/** The times of actions on a clock that all processes of the host share. */
export function onHostClock(actions: readonly ObservedAction[]): ObservedAction[] {
  const { timeOrigin } = performance;
  return actions.map((action) => ({
    ...action,
    start: action.start + timeOrigin,
    end: action.end + timeOrigin,
  }));
}

/** @param rows What each rank did in one step, on a common clock. */
export function bubbleOf(schedule: Schedule, rows: readonly (readonly ObservedAction[])[]): Bubble {
  const busyIn = ({ start, end, waited }: ObservedAction) => end - start - waited;
  const all = rows.flat();
  const first = Math.min(...all.map(({ start }) => start));
  const last = Math.max(...all.map(({ end }) => end));
  const idle = rows.map((row) => {
    const busy = row.reduce((sum, action) => sum + busyIn(action), 0);
    return (last - first - busy) / busy;
  });
  const meanOf = (kind: ActionKind, isCounted: (action: Action) => boolean = () => true) => {
    const times = all.filter((action) => action.kind === kind && isCounted(action)).map(busyIn);
    return times.reduce((sum, time) => sum + time, 0) / Math.max(times.length, 1);
  };
  const costs: ActionCosts = {
    forward: meanOf('forward'),
    backward: meanOf('backward'),
    weights: meanOf('weights'),
  };
  const ofStage = ({ kind, stage }: Action) => meanOf(kind, (action) => action.stage === stage);
  return {
    measured: Math.max(...idle),
    simulated: simulate(schedule, costs).bubble,
    simulatedByStage: simulate(schedule, ofStage).bubble,
    costs,
  };
}
