import { AccError } from '@acc/contract';
import type { RankStep, RecordedRun } from './run.js';
import { Run } from './run.js';
import { factsOf } from './samples.js';
import { median, min, sum } from './statistics.js';
import { partsOf, type StepPart } from './step-parts.js';

/** The parts of the time of a step, as shares that add up to 1. */
export interface TimeShares {
  /** Passes, replays and the optimizer. */
  readonly compute: number;
  /** Waits for batches. */
  readonly data: number;
  /** Waits for checkpoints. */
  readonly saves: number;
  /** The rest of the code of the loop, with evaluations. */
  readonly loop: number;
  /** Communication that nothing hides, on the rank that comes last, too. */
  readonly communication: number;
  /** The waits for slower ranks. */
  readonly imbalance: number;
}

/** Where the time of a run goes, without its first steps. */
export interface StepTimes {
  /** The number of steps that count. */
  readonly steps: number;
  readonly ranks: readonly number[];
  /** The mean time of a step, in milliseconds. */
  readonly stepMs: number;
  /** The samples of a step, of all ranks: the median. NaN: not known. */
  readonly samples: number;
  /** Of all ranks. NaN: not known. */
  readonly samplesPerSecond: number;
  /** Sent by a rank in a step: the median. */
  readonly bytesSent: number;
  /** Of all ranks together. Undefined on a GPU, where a pass returns before it is computed. */
  readonly shares: TimeShares | undefined;
  /** Of each rank, where `imbalance` is 0 and `communication` has all of its waits. */
  readonly byRank: readonly TimeShares[] | undefined;
}

/**
 * Where the time of a run goes.
 *
 * @throws AccError `ACC_RECORDS_EMPTY` if the ranks have no step in common.
 */
export function stepTimes(recorded: RecordedRun): StepTimes {
  const run = new Run(recorded);
  if (run.length === 0)
    throw new AccError('ACC_RECORDS_EMPTY', 'The ranks have no recorded step in common.', {
      help: 'Let the training run longer: the first two steps and the last one have no records.',
    });
  const ms = sum(run.steps.flat().map((step) => step.ms)) / run.steps.length;
  const rows = run.steps[0]!.map(({ row }) => row);
  const bytes = run.steps.flatMap((steps) => steps.map(({ row }) => row.bytesSent));
  const isKnown = factsOf(run, 0)?.device === 'cpu';
  return {
    steps: run.length,
    ranks: run.numbers,
    stepMs: ms / run.length,
    samples: median(rows.map(({ samples }) => samples)),
    samplesPerSecond: (1000 * sum(rows.map(({ samples }) => samples))) / ms,
    bytesSent: median(bytes),
    shares: isKnown ? sharesOf(run.steps, sharedMs(run)) : undefined,
    byRank: isKnown ? run.steps.map((steps) => sharesOf([steps])) : undefined,
  };
}

/** The communication that is left on the rank that comes last, by step. */
function sharedMs(run: Run): number[] {
  return run.steps[0]!.map((_, step) => min(run.steps.map((steps) => steps[step]!.waitedMs)));
}

/** @param shared By step, at most what each rank waited. Default: all that it waited. */
function sharesOf(ranks: readonly (readonly RankStep[])[], shared?: readonly number[]): TimeShares {
  const steps = ranks.flat();
  const all = sum(steps.map(({ ms }) => ms));
  const waited = sum(steps.map(({ waitedMs }) => waitedMs));
  const communication = shared ? sum(shared) * ranks.length : waited;
  const parts = steps.map(partsOf);
  const share = (...ids: StepPart[]) => sum(ids.map((id) => sum(parts.map((each) => each[id])))) / all;
  return {
    compute: share('forward', 'backward', 'replay', 'optimizer'),
    data: share('loader'),
    saves: share('saves'),
    loop: share('evaluation', 'loop'),
    communication: communication / all,
    imbalance: (waited - communication) / all,
  };
}
