import type { Facts } from '../facts.js';
import type { StepRow } from '../format.js';
import { isPipeline, rankStep, type RankStep } from './run.js';
import { mean } from './statistics.js';

/** The parts of the time of a step, in the order of a step. They do not overlap, and add up to the step. */
export const STEP_PARTS = [
  // The loop waits for a batch.
  'loader',
  'forward',
  'backward',
  // Replays of compiled steps.
  'replay',
  // Blocked in collectives, or waiting for gradients of other ranks.
  'waiting',
  'optimizer',
  // The loop waits for a checkpoint.
  'saves',
  // Predictions.
  'evaluation',
  // The rest: code of the loop.
  'loop',
] as const;

export type StepPart = (typeof STEP_PARTS)[number];
/** Milliseconds. */
export type StepParts = Readonly<Record<StepPart, number>>;

/** The parts of the time of one step of one rank. Columns that older records lack count as 0. */
export function partsOf({ row, computeMs, waitedMs, loopMs }: RankStep): StepParts {
  const { forward, backward, optimizer, exposed } = row;
  // Hooks of a replay measure the optimizer and the wait for gradients, which are parts of it.
  const replay = Math.max(0, (row.replay || 0) - optimizer - exposed);
  // Collectives within passes are waits. Records do not say in which pass, so all have their share.
  const scale = computeMs / (forward + backward + replay + optimizer) || 0;
  let rest = loopMs;
  const take = (ms: number) => {
    const taken = Math.min(ms || 0, rest);
    rest -= taken;
    return taken;
  };
  const [loader, saves, evaluation] = [take(row.loader), take(row.saves), take(row.evaluation)];
  return {
    ...{ loader, forward: forward * scale, backward: backward * scale, replay: replay * scale },
    ...{ waiting: waitedMs, optimizer: optimizer * scale, saves, evaluation, loop: rest },
  };
}

/** The mean time of each part of the steps of a rank, and of the whole step. Undefined without steps. */
export function meanParts(
  rows: readonly StepRow[],
  facts: Facts | undefined,
): (StepParts & { readonly step: number }) | undefined {
  if (rows.length === 0) return undefined;
  const steps = rows.map((row) => rankStep(row, isPipeline(facts)));
  const parts = steps.map(partsOf);
  const means = STEP_PARTS.map((id) => [id, mean(parts.map((each) => each[id]))]);
  return { ...(Object.fromEntries(means) as StepParts), step: mean(steps.map(({ ms }) => ms)) };
}
