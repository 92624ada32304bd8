/** The idle time of a pipelined step, from what each rank did, and where it comes from. */
import { performance } from 'node:perf_hooks';
import {
  simulate,
  type Action,
  type ActionCosts,
  type ActionKind,
  type CostOfAction,
  type ObservedAction,
  type Schedule,
} from '@acc/core/pipeline';

/** The times of one rank in a step, in milliseconds of a clock that all ranks share. */
export interface ObservedStep {
  readonly start: number;
  readonly end: number;
  readonly actions: readonly ObservedAction[];
}

/**
 * Bubbles: the idle time of all ranks, relative to the time that they compute. Each simulation has
 * one cause of idle time more than the one before it.
 */
export interface Bubble {
  /** The schedule's table, if each action takes the mean time of its kind. */
  readonly mean: number;
  /** The same, and results are sent when they were sent: backward sends before it ends. */
  readonly sentEarly: number;
  /** Each action takes the mean time of its kind in its stage. */
  readonly byStage: number;
  /** Each action takes its own time. */
  readonly ownTimes: number;
  /** And each message its time on the way, as far as its receiver waited for it. */
  readonly messages: number;
  /** And the step has its start and its end: what comes before the first action and after the last. */
  readonly predicted: number;
  /** From the first rank's start of the step until the last rank's end. */
  readonly measured: number;
  /** The time that `predicted` lacks, relative to the time of the step. */
  readonly unexplained: number;
  readonly stepMs: number;
  /** The mean time of each kind of action, in milliseconds. */
  readonly costs: ActionCosts;
}

/** The times of a step on a clock that all processes of the host share. */
export function onHostClock({ start, end, actions }: ObservedStep): ObservedStep {
  const { timeOrigin } = performance;
  const moved = <T extends { start: number; end: number }>(times: T): T => ({
    ...times,
    start: times.start + timeOrigin,
    end: times.end + timeOrigin,
  });
  return {
    ...moved({ start, end }),
    actions: actions.map((action) => ({
      ...moved(action),
      sent: action.sent === undefined ? undefined : action.sent + timeOrigin,
    })),
  };
}

const keyOf = ({ kind, stage, microBatch }: Action) => `${kind} ${stage} ${microBatch}`;
const durationOf = ({ start, end, waited }: ObservedAction) => end - start - waited;
const sentAfterOf = ({ start, end, waited, sent }: ObservedAction) => (sent ?? end) - start - waited;
const meanOf = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

/** The time between the sending of what an action waited for and its arrival. */
function onTheWay(action: ObservedAction, all: ReadonlyMap<string, ObservedAction>): number {
  const { kind, stage } = action;
  if (kind === 'weights') return 0;
  const sender = all.get(keyOf({ ...action, stage: kind === 'forward' ? stage - 1 : stage + 1 }));
  if (sender?.sent === undefined) return 0;
  return Math.min(action.waited, Math.max(0, action.start + action.waited - sender.sent));
}

/** @param steps What each rank did in one step, on a common clock. */
export function bubbleOf(schedule: Schedule, steps: readonly ObservedStep[]): Bubble {
  const all = new Map(steps.flatMap(({ actions }) => actions.map((each) => [keyOf(each), each] as const)));
  const list = [...all.values()];
  const busy = list.map(durationOf).reduce((sum, time) => sum + time, 0);
  const bubbleIn = (duration: number) => (steps.length * duration - busy) / busy;
  const durationBy = (costs: CostOfAction) => simulate(schedule, costs).duration;
  const means = (isSame: (a: Action, b: Action) => boolean) => (action: Action) => {
    const same = list.filter((other) => isSame(other, action));
    return { duration: meanOf(same.map(durationOf)), sentAfter: meanOf(same.map(sentAfterOf)) };
  };
  const ofKind = means((a, b) => a.kind === b.kind);
  // The first stage has no gradients to send, and so no time when it does.
  const early = means((a, b) => a.kind === b.kind && (a as ObservedAction).sent !== undefined);
  const withMessages = durationBy((action) => {
    const own = all.get(keyOf(action))!;
    const way = onTheWay(own, all);
    return { duration: way + durationOf(own), sentAfter: way + sentAfterOf(own) };
  });
  const stepMs = Math.max(...steps.map(({ end }) => end)) - Math.min(...steps.map(({ start }) => start));
  const acting = Math.max(...list.map(({ end }) => end)) - Math.min(...list.map(({ start }) => start));
  const cost = (kind: ActionKind) => meanOf(list.filter((each) => each.kind === kind).map(durationOf));
  return {
    mean: bubbleIn(durationBy((action) => ofKind(action).duration)),
    sentEarly: bubbleIn(
      durationBy((action) => {
        const { duration } = ofKind(action);
        const { duration: whole, sentAfter } = early(action);
        return { duration, sentAfter: whole > 0 ? (duration * sentAfter) / whole : duration };
      }),
    ),
    byStage: bubbleIn(durationBy(means((a, b) => a.kind === b.kind && a.stage === b.stage))),
    ownTimes: bubbleIn(
      durationBy((action) => {
        const own = all.get(keyOf(action))!;
        return { duration: durationOf(own), sentAfter: sentAfterOf(own) };
      }),
    ),
    messages: bubbleIn(withMessages),
    predicted: bubbleIn(withMessages + stepMs - acting),
    measured: bubbleIn(stepMs),
    unexplained: (acting - withMessages) / stepMs,
    stepMs,
    costs: { forward: cost('forward'), backward: cost('backward'), weights: cost('weights') },
  };
}
