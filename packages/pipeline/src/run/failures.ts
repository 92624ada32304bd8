import { scalar, tidy } from '@tensorflow/tfjs-core';
import { AccError, isAccError, type Collective } from '@acc/contract';
import { keyOf, simulate, type Schedule } from '@acc/planner/schedules';
import type { StepFailure } from './run-step.js';

/** The report of a failure to other ranks. */
interface ToldFailure {
  /** The rank in the job. */
  readonly rank: number;
  readonly where: string;
  readonly message: string;
  readonly code: string | null;
  /** When the action starts in a simulation of the schedule. What it causes starts later. */
  readonly start: number;
}

/**
 * Tells all ranks of the job whether one of them has failed in the step. Each of them calls it.
 *
 * @throws The error of the step on the rank on which it happened first, `ACC_PIPELINE_FAILED` on the
 * others.
 */
export function requireNoFailure(
  failure: StepFailure | undefined,
  schedule: Schedule,
  all: Collective,
): void {
  const failed = orOwn(failure, () =>
    tidy(() => all.allReduce(scalar(failure ? 1 : 0), 'max').dataSync()[0]!),
  );
  if (failed === 0) return;
  const local = failure && tellOf(failure, schedule, all.rank);
  const told = orOwn(failure, () => all.allGatherObject(local ?? null)).filter((each) => each !== null);
  const first = told.reduce((before, each) => (each.start < before.start ? each : before));
  throw local?.start === first.start ? failure!.error : failedElsewhere(first);
}

/** Runs a collective. What prevents it may be a consequence of this rank's own failure, which is thrown then. */
function orOwn<T>(failure: StepFailure | undefined, collective: () => T): T {
  try {
    return collective();
  } catch (error) {
    throw failure?.error ?? error;
  }
}

function tellOf({ error, action, isInLoss }: StepFailure, schedule: Schedule, rank: number): ToldFailure {
  const row = simulate(schedule).rows.flat();
  const { kind, stage, microBatch } = action;
  const part = isInLoss ? 'the loss' : kind === 'forward' ? 'forward' : 'backward';
  return {
    rank,
    where: `${part} of micro-batch ${microBatch} in stage ${stage} of ${schedule.stages}`,
    message: error instanceof Error ? error.message : String(error),
    code: isAccError(error) ? error.code : null,
    start: row.find((each) => keyOf(each) === keyOf(action))!.start,
  };
}

function failedElsewhere({ rank, where, message, code }: ToldFailure): AccError {
  const of = code === null ? '' : `${code}: `;
  return new AccError('ACC_PIPELINE_FAILED', `Rank ${rank} failed in ${where}: ${of}${message}`, {
    help: `Correct the cause on rank ${rank}, which throws the error with its stack. No rank has updated weights in this step, and all ranks can take the next one.`,
    details: { rank, where, code },
  });
}
