import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAccError } from '@acc/contract';
import type { Check, Figure, Subject } from './check.js';

/** A line of the file of a rank, which `acc test` reads. */
export interface CheckEvent {
  readonly check: string;
  readonly state: 'started' | 'passed' | 'failed' | 'leftOut';
  /** Why it failed: a line for each rank that found something. */
  readonly problems?: readonly string[];
  readonly code?: string | undefined;
  readonly note?: string | undefined;
  readonly figures?: readonly Figure[] | undefined;
}

/** Where a rank tells what it found. */
export interface Reporter {
  readonly event: (event: CheckEvent) => void;
}

/** Writes to the rank's file, and rank 0 also to the terminal. */
export function reporter(rank: number, { folder, isJson }: Subject['plan']): Reporter {
  const path = join(folder, `rank-${rank}.jsonl`);
  const output = isJson ? process.stderr : process.stdout;
  return {
    event: (event) => {
      appendFileSync(path, `${JSON.stringify(event)}\n`);
      if (rank === 0 && event.state !== 'started') output.write(`${lineOf(event)}\n`);
    },
  };
}

const MARKS = { passed: 'ok', failed: 'FAILED', leftOut: '-', started: '' } as const;

function lineOf({ check, state, problems = [], note = '' }: CheckEvent): string {
  return `${MARKS[state].padEnd(6)}  ${check.padEnd(20)}  ${problems[0] ?? note}`.trimEnd();
}

/**
 * Runs the checks in order. A wrong value is told to all ranks, which go on. An error ends the
 * program, because ranks may have got out of step.
 */
export async function runChecks(
  checks: readonly Check[],
  subject: Subject,
  { event }: Reporter,
): Promise<void> {
  for (const { name: check, run } of checks) {
    event({ check, state: 'started' });
    const reason = subject.plan.leftOut[check];
    const { problem, leftOut, note, figures } =
      reason === undefined ? await run(subject) : { leftOut: reason };
    const found = subject.accelerator.gatherObject([problem ?? '']);
    const problems = found.flatMap((text, rank) => (text ? [`rank ${rank}: ${text}`] : []));
    if (problems.length > 0) {
      event({ check, state: 'failed', problems });
    } else {
      event({ check, state: leftOut === undefined ? 'passed' : 'leftOut', note: leftOut ?? note, figures });
    }
  }
}

/** The event of a check that ended with an error. */
export function failure(check: string, rank: number, error: unknown): CheckEvent {
  const message = error instanceof Error ? error.message : String(error);
  const code = isAccError(error) ? error.code : undefined;
  return { check, state: 'failed', problems: [`rank ${rank}: ${message}`], code };
}
