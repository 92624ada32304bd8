import type { Gain } from './finding.js';
import type { RankStep, Run } from './run.js';

/** The times of a step on one rank, in milliseconds. */
export interface Cost {
  /** From the end of the step before until its gradients are final: it then waits for the other ranks. */
  readonly before: number;
  /** The communication that is left when all ranks have come. The same on all ranks. */
  readonly shared: number;
  /** The optimizer. */
  readonly after: number;
}

/** Changes the times of a step. `index` is that of the rank in {@link Run.steps}. */
export type Edit = (cost: Cost, step: RankStep, index: number) => Cost;

/**
 * Runs recorded steps again, as events: each rank goes on when the slowest has come and the communication
 * is over. Steps in which no rank waits have no common event.
 *
 * @returns The time until the last rank has taken the last step, in milliseconds.
 */
export function replay(run: Run, edit: Edit = (cost) => cost, from = 0, to = run.length): number {
  const clocks = run.steps.map(() => 0);
  for (let i = from; i < to; i++) {
    const costs = run.steps.map((steps, rank) => edit(costOf(run, i, rank), steps[i]!, rank));
    const isCommon = run.steps.length > 1 && run.steps.some((steps) => steps[i]!.waitedMs > 0);
    const arrivals = costs.map(({ before }, rank) => clocks[rank]! + before);
    const last = Math.max(...arrivals);
    costs.forEach(({ shared, after }, rank) => {
      clocks[rank] = (isCommon ? last : arrivals[rank]!) + shared + after;
    });
  }
  return Math.max(...clocks);
}

function costOf(run: Run, step: number, rank: number): Cost {
  const { ms, waitedMs, row } = run.steps[rank]![step]!;
  // Nobody waits for others on the rank that comes last, so its wait is the communication.
  const shared = Math.min(...run.steps.map((steps) => steps[step]!.waitedMs));
  const after = Math.min(row.optimizer, ms - waitedMs);
  return { before: ms - waitedMs - after, shared, after };
}

const PARTS = 4;

/**
 * The gain if a cause is removed, by a replay of the recorded steps with and without it.
 *
 * @param edits The cause removed as far as is likely, and as far as is possible and as little as is possible.
 */
export function gainOf(
  run: Run,
  edits: { readonly mid: Edit; readonly low?: Edit; readonly high?: Edit },
): Gain {
  const parts = Math.min(PARTS, run.length);
  const bounds = Array.from({ length: parts + 1 }, (_, i) => Math.round((i * run.length) / parts));
  const gains = (edit: Edit) =>
    bounds.slice(1).map((to, i) => {
      const from = bounds[i]!;
      return Math.max(0, 1 - replay(run, edit, from, to) / replay(run, undefined, from, to));
    });
  const { mid, low = mid, high = mid } = edits;
  const ofAll = Math.max(0, 1 - replay(run, mid) / replay(run));
  return {
    low: Math.min(...gains(low), ...gains(mid), ofAll),
    mid: ofAll,
    // Ranks also wait for each other from part to part.
    high: Math.max(...gains(high), ...gains(mid), ofAll),
    how: 'simulated',
  };
}

/** Takes milliseconds off the time before the reduction of gradients. */
export function less(ms: (step: RankStep, index: number) => number): Edit {
  return (cost, step, index) => ({ ...cost, before: Math.max(0, cost.before - ms(step, index)) });
}
