import { setTimeout as sleep } from 'node:timers/promises';
import { recordsFolder, type Diagnosis, type Finding } from '@acc/records';
import { WatchedRun } from '../monitor/runs/watched-run.js';
import { formatDiagnosis, formatFinding } from './report.js';

const EVERY_MS = 2000;
/** A process writes a sample every 250 ms. Without one for so long, it has ended, or was stopped. */
const SILENT_MS = 15_000;

/** A line of JSON of `acc diagnose --follow --json`. */
export type Told =
  | { readonly event: 'found' | 'gone'; readonly step: number; readonly finding: Finding }
  | { readonly event: 'ended'; readonly step: number };

/** The parts of {@link follow} that tests replace. */
export interface Following {
  readonly write: (text: string) => void;
  /** Returns the time in milliseconds since 1970. */
  readonly now?: () => number;
  readonly everyMs?: number;
}

/**
 * Tells of each finding of a run that goes on when it is first there, and when it is gone, until the run has
 * ended. It then gives the whole diagnosis.
 *
 * @throws AccError `ACC_RECORDS_MISSING`, `ACC_RECORDS_FORMAT`.
 */
export async function follow(
  path: string,
  json: boolean,
  { write, now = Date.now, everyMs = EVERY_MS }: Following,
) {
  const run = new WatchedRun('followed', recordsFolder(path));
  await run.check();
  let before = new Map<string, Finding>();
  for (;;) {
    await run.read();
    if (run.error) throw run.error;
    const verdict = await run.verdict();
    const step = run.ranks[0]?.lastStep?.step ?? 0;
    const findings = 'code' in verdict ? [] : verdict.findings;
    const found = new Map(findings.map((finding) => [finding.id, finding]));
    for (const told of changes(before, found, step)) write(json ? `${JSON.stringify(told)}\n` : textOf(told));
    before = found;
    const lastTime = Math.max(0, ...run.ranks.map((rank) => rank.lastTime));
    if (now() - lastTime > SILENT_MS)
      return write(json ? `${JSON.stringify({ event: 'ended', step })}\n` : endText(verdict));
    await sleep(everyMs);
  }
}

function changes(
  before: ReadonlyMap<string, Finding>,
  found: ReadonlyMap<string, Finding>,
  step: number,
): Told[] {
  const isNew = [...found.values()].filter(({ id }) => !before.has(id));
  const isGone = [...before.values()].filter(({ id }) => !found.has(id));
  return [
    ...isNew.map((finding) => ({ event: 'found' as const, step, finding })),
    ...isGone.map((finding) => ({ event: 'gone' as const, step, finding })),
  ];
}

function textOf(told: Told): string {
  if (told.event === 'found') return `step ${told.step}: ${formatFinding(told.finding)}\n\n`;
  return told.event === 'gone' ? `step ${told.step}: ${told.finding.id} is gone.\n\n` : '';
}

function endText(verdict: Diagnosis | { readonly message: string }): string {
  const end = 'The run writes no records any more.';
  return 'message' in verdict ? `${end} ${verdict.message}\n` : `${end}\n\n${formatDiagnosis(verdict)}`;
}
