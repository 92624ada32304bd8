import { AccError } from '@acc/contract';
import { keyOf, rankOf, upTo, type Action, type ActionKind, type Schedule } from './action.js';

/** How long each kind of action takes in one stage, in any unit. */
export type ActionCosts = Readonly<Record<ActionKind, number>>;

/** How long an action takes, and when in that time it sends its result to the next stage. */
export interface ActionTime {
  readonly duration: number;
  readonly sentAfter: number;
}

/** How long each action takes, for stages whose work differs. A number: it sends its result at its end. */
export type CostOfAction = (action: Action) => number | ActionTime;

export interface TimedAction extends Action {
  readonly start: number;
  readonly end: number;
}

/** The schedule in time if each action takes the given time and messages take none. */
export interface Simulation {
  readonly rows: readonly (readonly TimedAction[])[];
  /** The time from the first start to the last end. */
  readonly duration: number;
  /** The idle time of the rank that is idle longest, relative to the time that it computes. */
  readonly bubble: number;
  /** The most forward passes of each rank whose tensors are kept at one time. */
  readonly peakPasses: readonly number[];
}

/**
 * Runs the table of a schedule in time. A rank takes its actions in order, each when its inputs are
 * there. Sends do not wait for their receivers.
 *
 * @param costs Default: forward 1, backward 2, or 1 and 1 if the schedule has `weights` actions.
 * @throws AccError `ACC_PIPELINE_DEADLOCK` if ranks wait for each other, or if the table lacks an
 * action or repeats one.
 */
export function simulate(
  schedule: Schedule,
  costs: ActionCosts | CostOfAction = unitCosts(schedule),
): Simulation {
  requireComplete(schedule);
  const costOf: CostOfAction = typeof costs === 'function' ? costs : ({ kind }) => costs[kind];
  const { ranks, rows } = schedule;
  const sent = new Map<string, number>();
  const timed: TimedAction[][] = rows.map(() => []);
  const clocks = rows.map(() => 0);
  const advance = (rank: number): boolean => {
    const action = rows[rank]![timed[rank]!.length];
    const starts = action && startsOf(action, schedule).map((key) => sent.get(key));
    if (!action || starts!.includes(undefined)) return false;
    const start = Math.max(clocks[rank]!, ...(starts as number[]));
    const cost = costOf(action);
    const { duration, sentAfter } = typeof cost === 'number' ? { duration: cost, sentAfter: cost } : cost;
    const end = start + duration;
    timed[rank]!.push({ ...action, start, end });
    sent.set(keyOf(action), start + sentAfter);
    clocks[rank] = end;
    return true;
  };
  while (upTo(ranks).filter(advance).length > 0);
  if (timed.some((row, rank) => row.length < rows[rank]!.length)) throw deadlock(schedule, timed);
  const duration = Math.max(0, ...clocks);
  const idle = timed.map((row) => {
    const busy = row.reduce((sum, { start, end }) => sum + end - start, 0);
    return (duration - busy) / busy;
  });
  return { rows: timed, duration, bubble: Math.max(0, ...idle), peakPasses: rows.map(peakOf) };
}

function unitCosts({ rows }: Schedule): ActionCosts {
  const isSplit = rows.some((row) => row.some(({ kind }) => kind === 'weights'));
  return { forward: 1, backward: isSplit ? 1 : 2, weights: 1 };
}

/** The keys of the actions whose results an action needs before it starts. */
function startsOf({ kind, stage, microBatch }: Action, { stages }: Schedule): string[] {
  const of = (before: ActionKind, at: number) => keyOf({ kind: before, stage: at, microBatch });
  if (kind === 'forward') return stage > 0 ? [of('forward', stage - 1)] : [];
  if (kind === 'weights') return [of('backward', stage)];
  return [of('forward', stage), ...(stage < stages - 1 ? [of('backward', stage + 1)] : [])];
}

/** The most passes that are kept at one time, in a row. */
function peakOf(row: readonly Action[]): number {
  const frees = row.some(({ kind }) => kind === 'weights') ? 'weights' : 'backward';
  let kept = 0;
  let peak = 0;
  for (const { kind } of row) {
    if (kind === 'forward') peak = Math.max(peak, ++kept);
    else if (kind === frees) kept--;
  }
  return peak;
}

function requireComplete({ rows, ranks, stages, microBatches }: Schedule): void {
  const isSplit = rows.some((row) => row.some(({ kind }) => kind === 'weights'));
  const kinds: ActionKind[] = ['forward', 'backward', ...(isSplit ? (['weights'] as const) : [])];
  const found = new Map<string, number>();
  rows.forEach((row, rank) => {
    for (const action of row) {
      const key = keyOf(action);
      if (rankOf(action.stage, ranks) !== rank || found.has(key)) throw wrong(`${key} on rank ${rank}`);
      found.set(key, rank);
    }
  });
  for (const kind of kinds)
    for (const stage of upTo(stages))
      for (const microBatch of upTo(microBatches)) {
        const key = keyOf({ kind, stage, microBatch });
        if (!found.delete(key)) throw wrong(`no ${key}`);
      }
  for (const key of found.keys()) throw wrong(key);
}

const wrong = (what: string): AccError =>
  new AccError('ACC_PIPELINE_DEADLOCK', `The table of the schedule is wrong: ${what}.`, {
    help: 'Give each stage each forward and backward of every micro-batch once.',
  });

function deadlock({ rows }: Schedule, timed: readonly (readonly Action[])[]): AccError {
  const waits = rows.map((row, rank) => {
    const next = row[timed[rank]!.length];
    return `  rank ${rank}: ${next ? keyOf(next) : 'done'}`;
  });
  return new AccError(
    'ACC_PIPELINE_DEADLOCK',
    `The ranks of the schedule wait for each other before:\n${waits.join('\n')}`,
    { help: 'Order the actions of each rank so that what an action needs comes before it on every rank.' },
  );
}
