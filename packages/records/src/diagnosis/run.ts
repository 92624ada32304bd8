import type { Facts } from '../facts.js';
import type { SampleRow, StepRow } from '../format.js';
import { median, sum } from './statistics.js';

/** The records of one rank. */
export interface RankRecords {
  readonly rank: number;
  readonly steps: readonly StepRow[];
  /** The index of the first step since the run was last resumed. Default 0. */
  readonly resumedAt?: number;
  readonly samples: readonly SampleRow[];
  readonly facts: Facts | undefined;
}

/** The records of a run, as {@link readRecords} gives them. */
export interface RecordedRun {
  readonly ranks: readonly RankRecords[];
  /** Records that are missing or damaged: a text each. */
  readonly problems: readonly string[];
}

/** A step of one rank. Times are in milliseconds. */
export interface RankStep {
  readonly row: StepRow;
  readonly ms: number;
  /** The time in which it was blocked in collectives, or waited for gradients. */
  readonly waitedMs: number;
  /** The time in forward and backward passes, replays and the optimizer, without that wait. */
  readonly computeMs: number;
  /** The rest: the code of the loop, and what it waits for. */
  readonly loopMs: number;
}

/** The first steps choose kernels and allocate memory. They do not count. */
const WARM_UP = 10;
const WARM_UP_SHARE = 5;

/** The records of a run, as detectors see them: the same steps of all ranks, without the first ones. */
export class Run {
  /** By rank, in the order of steps. */
  readonly steps: readonly (readonly RankStep[])[];
  /** The ranks of {@link steps}. */
  readonly numbers: readonly number[];

  constructor(readonly recorded: RecordedRun) {
    const ranks = recorded.ranks.filter(({ steps }) => steps.length > 0);
    const common = commonSteps(ranks.map(lastRun));
    const first = Math.min(WARM_UP, Math.floor((common[0]?.length ?? 0) / WARM_UP_SHARE));
    const isStaged = isPipeline(this.facts);
    this.steps = common.map((rows) => rows.slice(first).map((row) => rankStep(row, isStaged)));
    this.numbers = ranks.map(({ rank }) => rank);
  }

  get length(): number {
    return this.steps[0]?.length ?? 0;
  }

  get facts(): Facts | undefined {
    return this.recorded.ranks.find(({ facts }) => facts)?.facts;
  }

  /** The median time of a step over steps and ranks. */
  get stepMs(): number {
    return median(this.steps.flat().map(({ ms }) => ms));
  }

  /** The share of a time in the whole time of a rank's steps: the median over ranks. */
  share(of: (step: RankStep) => number): number {
    return median(this.steps.map((steps) => sum(steps.map(of)) / sum(steps.map(({ ms }) => ms))));
  }

  /** All steps of a rank, also the first ones. */
  allRows(index: number): readonly StepRow[] {
    return lastRun(this.#records(index));
  }

  /** Samples of a rank within the steps that count. */
  samples(index: number): readonly SampleRow[] {
    const rows = this.steps[index]!;
    const [from, to] = [rows[0]!.row.start, rows.at(-1)!.row.end];
    const within = this.#records(index).samples.filter(({ time }) => time >= from && time <= to);
    // Counters begin again in another process.
    const restart = within.findLastIndex(({ cpuMs }, i) => i > 0 && cpuMs < within[i - 1]!.cpuMs);
    return within.slice(Math.max(restart, 0));
  }

  /** Samples of a rank since the end of the last step that all ranks have. */
  samplesAfter(index: number): readonly SampleRow[] {
    const { end } = this.steps[index]!.at(-1)!.row;
    return this.#records(index).samples.filter(({ time }) => time > end);
  }

  /** Undefined: a rank has none. */
  lastSample(index: number): SampleRow | undefined {
    return this.#records(index).samples.at(-1);
  }

  #records(index: number): RankRecords {
    return this.recorded.ranks.find(({ rank }) => rank === this.numbers[index])!;
  }

  since(step: StepRow): { readonly step: number; readonly time: string } {
    return { step: step.step, time: new Date(step.start).toISOString() };
  }
}

/** A run that was resumed appends to the same files, and its steps may begin again. */
function lastRun({ steps, resumedAt = 0 }: RankRecords): readonly StepRow[] {
  const rows = steps.slice(resumedAt);
  const restart = rows.findLastIndex((row, i) => i > 0 && row.step <= rows[i - 1]!.step);
  return rows.slice(Math.max(restart, 0));
}

/** The rows of the steps that all ranks have. */
function commonSteps(ranks: readonly (readonly StepRow[])[]): StepRow[][] {
  const known = ranks.map((rows) => new Set(rows.map(({ step }) => step)));
  return ranks.map((rows) => rows.filter(({ step }) => known.every((steps) => steps.has(step))));
}

/** Whether a job trains the layers of a model in stages. */
export function isPipeline(facts: Facts | undefined): boolean {
  return facts?.strategy?.startsWith('pipeline') ?? false;
}

/**
 * The time of a step of one rank, divided.
 *
 * @param isStaged Whether the rank is a stage of a pipeline. Stages wait for each other between their passes.
 */
export function rankStep(row: StepRow, isStaged: boolean): RankStep {
  const ms = row.end - row.start;
  const { forward, backward, optimizer, exposed, replay } = row;
  const inPasses = Math.min(ms, Math.max(exposed, row.blocked || 0));
  const between = isStaged ? row.communicating || 0 : 0;
  const waitedMs = Math.min(ms, Math.max(inPasses, between));
  // Hooks of a replay measure the optimizer and the wait for gradients, which are parts of it.
  const computed =
    replay > 0
      ? Math.max(replay, optimizer + exposed) + forward + backward - inPasses
      : forward + backward + optimizer + exposed - inPasses;
  const computeMs = Math.min(Math.max(computed, 0), ms - waitedMs);
  return { row, ms, waitedMs, computeMs, loopMs: ms - waitedMs - computeMs };
}
