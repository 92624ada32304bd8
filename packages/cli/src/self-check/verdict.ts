import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatSize } from '../byte-sizes.js';
import type { JobEnd } from '../launch/run-job.js';

/** The speed of an all-reduce of so many bytes. */
interface Figure {
  readonly bytes: number;
  readonly microseconds: number;
  readonly gigabytesPerSecond: number;
}

/** A line of a rank's file. */
interface CheckEvent {
  readonly check: string;
  readonly state: 'started' | 'passed' | 'failed' | 'leftOut';
  readonly problems?: readonly string[];
  readonly code?: string;
  readonly note?: string;
  readonly figures?: readonly Figure[];
}

/** The result of a check on all ranks. */
export interface CheckResult extends Omit<CheckEvent, 'check'> {
  readonly name: string;
  /** Advice for a failure. */
  readonly help?: string;
}

export interface Verdict {
  readonly hasPassed: boolean;
  /** Whether a signal to `acc test` ended it. */
  readonly isInterrupted: boolean;
  readonly ranks: number;
  readonly checks: readonly CheckResult[];
}

const REPORT = 'Report it with the output of: npx acc env --json';
const NEXT: readonly (readonly [RegExp, string])[] = [
  [/^start$/, 'npx acc env shows what is missing on this machine.'],
  [/^collectives|^objects/, `Try another transport: npx acc test -n 2 --engine gloo. ${REPORT}`],
  [/^checkpoint/, `Check the space and the rights in the folder for temporary files. ${REPORT}`],
  [/^training|^mixed/, `Compare with npx acc test --config-file none. ${REPORT}`],
];

/** Reads what the ranks wrote. */
export function readVerdict(folder: string, end: JobEnd & { readonly ranks: number }): Verdict {
  const logs = Array.from({ length: end.ranks }, (_, rank) => readEvents(folder, rank));
  const isInterrupted = end.exitCode > 128 && end.failure === undefined;
  const names = [...new Set(logs.flatMap((events) => events.map(({ check }) => check)))];
  const checks = names.map((name) => resultOf(name, logs));
  const withCause = isInterrupted ? checks : withEnd(checks, logs, end);
  const hasPassed = end.exitCode === 0 && withCause.every(({ state }) => isGood(state));
  return { hasPassed, isInterrupted, ranks: end.ranks, checks: withCause };
}

const isGood = (state: CheckEvent['state']): boolean => state === 'passed' || state === 'leftOut';

/** Rank 0 tells what all ranks found. A rank that met an error tells it itself. */
function resultOf(name: string, logs: readonly (readonly CheckEvent[])[]): CheckResult {
  const last = logs.flatMap((events) => events.filter(({ check }) => check === name).slice(-1));
  const { check: _, ...told } =
    last.find(({ state }) => state === 'failed') ?? last.find(({ state }) => state === 'started') ?? last[0]!;
  return told.state === 'failed' ? { name, ...told, ...helpFor(name, told.problems) } : { name, ...told };
}

/** Names the rank that ended the job, in the check during which it ended. */
function withEnd(
  checks: readonly CheckResult[],
  logs: readonly (readonly CheckEvent[])[],
  { failure }: JobEnd,
): readonly CheckResult[] {
  if (!failure) return checks;
  const { rank, signal, exitCode } = failure.exit;
  const last = logs[rank]?.at(-1);
  const name = last?.check ?? 'start';
  const how = signal ? `was killed by ${signal}` : `ended with exit code ${exitCode}`;
  const problems =
    last?.state === 'failed' && last.problems ? last.problems : [`rank ${rank} ${how} during this check`];
  const ended: CheckResult = { name, state: 'failed', problems, ...helpFor(name, problems), ...codeOf(last) };
  if (!checks.some((check) => check.name === name)) return [...checks, ended];
  return checks.map((check) => (check.name === name ? ended : check));
}

const codeOf = (event: CheckEvent | undefined) => (event?.code === undefined ? {} : { code: event.code });

/** Errors of the library say themselves what to do, after an arrow. */
function helpFor(name: string, problems: readonly string[] = []): Pick<CheckResult, 'help'> {
  if (problems.some((problem) => problem.includes('→'))) return {};
  return { help: NEXT.find(([pattern]) => pattern.test(name))?.[1] ?? REPORT };
}

function readEvents(folder: string, rank: number): CheckEvent[] {
  let text: string;
  try {
    text = readFileSync(join(folder, `rank-${rank}.jsonl`), 'utf8');
  } catch {
    // The rank ended before it wrote anything.
    return [];
  }
  // A rank that was killed may leave a part of a line.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as CheckEvent);
}

/** The verdict as text, after the lines of progress. */
export function formatVerdict({ hasPassed, isInterrupted, ranks, checks }: Verdict): string {
  const figures = checks.flatMap(({ figures: some = [] }) => some);
  const onRanks = `on ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}`;
  const lines = figures.map(
    ({ bytes, microseconds, gigabytesPerSecond }) =>
      `        ${formatSize(bytes).padStart(8)}  ${formatTime(microseconds).padStart(9)}  ${gigabytesPerSecond.toFixed(2).padStart(6)} GB/s`,
  );
  if (isInterrupted) return [...lines, `acc test was interrupted ${onRanks}.`, ''].join('\n');
  const failed = checks.filter(({ state }) => !isGood(state));
  const passed = checks.filter(({ state }) => state === 'passed').length;
  if (hasPassed) {
    const hint = ranks === 1 ? ' npx acc test -n 2 also checks what moves between ranks.' : '';
    return [...lines, `${passed} checks passed ${onRanks}.${hint}`, ''].join('\n');
  }
  return [
    ...lines,
    `acc test FAILED ${onRanks}:`,
    ...failed.flatMap(({ name, problems = ['it did not end'], code, help }) => [
      `  ${name}${code === undefined ? '' : ` (${code})`}: ${problems.join('\n    ')}`,
      ...(help === undefined ? [] : [`  → ${help}`]),
    ]),
    '',
  ].join('\n');
}

const formatTime = (microseconds: number): string =>
  microseconds < 1000 ? `${microseconds.toFixed(1)} µs` : `${(microseconds / 1000).toFixed(2)} ms`;
