import { AccError, checkKeys, isRecord } from '@acc/contract';
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
  /** First the causes that break the training, then the most costly ones. Empty: none was found. */
  readonly findings: readonly Finding[];
  readonly notJudged: readonly NotJudged[];
  /** The number of detectors that this run has a use for, with those that could not judge. */
  readonly detectors: number;
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
 * @throws AccError `ACC_RECORDS_EMPTY` if the ranks have no step in common.
 */
export function diagnoseRun(recorded: RecordedRun, options: DiagnoseOptions = {}): Diagnosis {
  const run = new Run(recorded);
  if (run.length === 0) throw emptyRecords(run);
  const asked = detectorsFor(run, checkedDetectors(options));
  const findings: Finding[] = [];
  const notJudged: NotJudged[] = [];
  for (const detector of asked) {
    const result = missing(run, detector.needs) ?? detector.find(run);
    if (typeof result === 'string') notJudged.push({ id: detector.id, reason: result });
    else if (result && (result.gain === null || result.share >= MIN_SHARE)) findings.push(finite(result));
  }
  const { length: steps, numbers: ranks, stepMs } = run;
  findings.sort((a, b) => Number(isBroken(b)) - Number(isBroken(a)) || b.share - a.share);
  const { problems } = recorded;
  return { findings, notJudged, detectors: asked.length, problems, steps, ranks, stepMs };
}

/** Ranks are not compared in a job that has one. */
function detectorsFor(run: Run, others: readonly Detector[]): Detector[] {
  const own = DETECTORS.filter(({ id }) => !others.some((each) => each.id === id));
  return [...own, ...others].filter(({ needs }) => (needs.ranks ?? 1) <= ranksOf(run));
}

function checkedDetectors(options: DiagnoseOptions): readonly Detector[] {
  checkKeys('diagnose', options, ['detectors']);
  const { detectors = [] } = options;
  const isDetector = (value: unknown) =>
    isRecord(value) &&
    typeof value.id === 'string' &&
    isRecord(value.needs) &&
    typeof value.find === 'function';
  if (Array.isArray(detectors) && detectors.every(isDetector)) return detectors;
  throw new AccError('ACC_INVALID_OPTION', 'diagnose: detectors is no array of detectors.', {
    help: 'Give an array of objects: { id: string, needs: {}, find(run) { … } }.',
  });
}

/** Without them, training goes on for nothing, or ends. */
const BREAKS: readonly string[] = ['hang', 'non-finite', 'ranks-differ', 'leak', 'near-oom'];

function isBroken({ id, severity }: Finding): boolean {
  return severity === 'critical' && BREAKS.includes(id);
}

/** Figures that are not known are no evidence. */
function finite(finding: Finding): Finding {
  return { ...finding, evidence: finding.evidence.filter(({ value }) => Number.isFinite(value)) };
}

function emptyRecords({ numbers, recorded: { problems } }: Run): AccError {
  const message =
    numbers.length === 0 ? 'The records have no step.' : 'The ranks have no recorded step in common.';
  const about =
    'Records begin with the second step after initTrackers, and the last one is written when the next has ended. Let the training run longer.';
  return new AccError('ACC_RECORDS_EMPTY', message, {
    help: [...problems, about].join(' '),
    details: { problems },
  });
}

function ranksOf(run: Run): number {
  return run.facts?.ranks ?? run.numbers.length;
}

/** Why a detector cannot be asked. */
function missing(run: Run, needs: Needs): string | undefined {
  const { minSteps = MIN_STEPS, ranks = 1 } = needs;
  if (run.length < minSteps) return `only ${run.length} of ${minSteps} steps after the first ones`;
  const jobRanks = ranksOf(run);
  if (ranks > 1 && run.numbers.length < jobRanks)
    return `the records of ${jobRanks - run.numbers.length} of ${jobRanks} ranks are missing`;
  return missingColumn(run, needs) ?? missingFact(run, needs);
}

function missingColumn(run: Run, { steps = [], samples = [] }: Needs): string | undefined {
  const noStep = steps.find(
    (name) =>
      run.steps.some((rows) => rows.every(({ row }) => row[name] === undefined)) ||
      run.steps.flat().every(({ row }) => Number.isNaN(row[name])),
  );
  if (noStep) return `no column ${noStep}`;
  if (samples.length === 0) return undefined;
  const ofRanks = run.numbers.map((_, i) => run.samples(i));
  if (ofRanks.some((rows) => rows.length < 2)) return 'no two samples of each process';
  const isUnknown = (value: number | undefined) => value === undefined || Number.isNaN(value);
  const absent = samples.find((name) => ofRanks.some((rows) => rows.every((row) => isUnknown(row[name]))));
  return absent && `no column ${absent}`;
}

function missingFact(run: Run, { facts: names = [], passes = false }: Needs): string | undefined {
  const facts: Partial<Facts> = run.facts ?? {};
  const isUnknown = (name: keyof Facts) => facts[name] === undefined || facts[name] === null;
  const absent = [...names, ...(passes ? (['device'] as const) : [])].find(isUnknown);
  if (absent) return `no fact ${absent}`;
  return passes && facts.device !== 'cpu'
    ? `the device ${facts.device} still computes when a pass returns, so the time of passes is not known`
    : undefined;
}
