import { AccError } from '@acc/contract';
import type { Facts } from '../facts.js';
import { DETECTORS } from './detectors.js';
import type { Detector, Finding, Needs } from './finding.js';
import { Run, type RecordedRun } from './run.js';

/** A detector that was not asked, or could not judge. */
export interface NotJudged {
  readonly id: string;
  readonly reason: string;
}

/** The result of a diagnosis. */
export interface Diagnosis {
  /** The most costly one first. Empty: healthy, as far as it was judged. */
  readonly findings: readonly Finding[];
  readonly notJudged: readonly NotJudged[];
  /** Records that are missing or damaged. */
  readonly problems: readonly string[];
  readonly steps: number;
  readonly ranks: readonly number[];
  /** The median time of a step, in milliseconds. */
  readonly stepMs: number;
}

export interface DiagnoseOptions {
  /** Detectors beside those of this package. One with the same id takes its place. */
  readonly detectors?: readonly Detector[];
}

/** A cause that costs less is never shown. */
const MIN_SHARE = 0.03;
const MIN_STEPS = 20;

/**
 * Looks for causes that hold a training back, in its records.
 *
 * @throws AccError `ACC_RECORDS_EMPTY` if no rank has a row of a step.
 */
export function diagnoseRun(recorded: RecordedRun, { detectors = [] }: DiagnoseOptions = {}): Diagnosis {
  const run = new Run(recorded);
  if (run.numbers.length === 0) throw emptyRecords();
  const own = DETECTORS.filter(({ id }) => !detectors.some((each) => each.id === id));
  const findings: Finding[] = [];
  const notJudged: NotJudged[] = [];
  for (const detector of [...own, ...detectors]) {
    // Ranks are not compared in a job that has one.
    if ((detector.needs.ranks ?? 1) > (run.facts?.ranks ?? run.numbers.length)) continue;
    const result = missing(run, detector.needs) ?? detector.find(run);
    if (typeof result === 'string') notJudged.push({ id: detector.id, reason: result });
    else if (result && (result.gain === null || result.share >= MIN_SHARE)) findings.push(result);
  }
  const { length: steps, numbers: ranks, stepMs } = run;
  findings.sort((a, b) => b.share - a.share);
  return { findings, notJudged, problems: recorded.problems, steps, ranks, stepMs };
}

function emptyRecords(): AccError {
  return new AccError('ACC_RECORDS_EMPTY', 'The records have no step.', {
    help: 'Records begin with the second step after initTrackers, and the last one is written when the next has ended. Let the training run longer.',
  });
}

/** Why a detector cannot be asked. */
function missing(run: Run, needs: Needs): string | undefined {
  const { minSteps = MIN_STEPS, ranks = 1 } = needs;
  if (run.length < minSteps) return `only ${run.length} of ${minSteps} steps after the first ones`;
  const jobRanks = run.facts?.ranks ?? run.numbers.length;
  if (ranks > 1 && run.numbers.length < jobRanks)
    return `the records of ${jobRanks - run.numbers.length} of ${jobRanks} ranks are missing`;
  return missingColumn(run, needs);
}

function missingColumn(run: Run, needs: Needs): string | undefined {
  const rows = run.steps[0]!;
  for (const name of needs.steps ?? [])
    if (rows.every(({ row }) => row[name] === undefined)) return `no column ${name}`;
  for (const name of needs.samples ?? []) {
    const samples = run.numbers.flatMap((_, i) => run.samples(i));
    if (samples.length < 2 * run.numbers.length) return 'no two samples of each process';
    if (samples.every((sample) => sample[name] === undefined || Number.isNaN(sample[name])))
      return `no column ${name}`;
  }
  const facts: Partial<Facts> = run.facts ?? {};
  const absent = needs.facts?.find((name) => facts[name] === undefined || facts[name] === null);
  return absent && `no fact ${absent}`;
}
