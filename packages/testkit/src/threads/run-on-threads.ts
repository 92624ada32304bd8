import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AccError, checkKeys } from '@acc/contract';
import { ThreadJob } from './thread-job.js';
import type { ThreadReport } from './serve-thread.js';

export interface RunOnThreadsOptions<Args = unknown> {
  /** The JavaScript or TypeScript module whose default export runs on every rank. */
  readonly module: string | URL;
  /** The number of ranks. */
  readonly ranks: number;
  /** The first argument of the module's function, as a structured clone. */
  readonly args?: Args;
  /** The threads are ended if a rank has no result after this time, in milliseconds. Default 240,000. */
  readonly timeoutMs?: number;
}

const KEYS = ['module', 'ranks', 'args', 'timeoutMs'];

/** The threads of the last module. */
let kept: ThreadJob | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a module on `ranks` ranks that are threads of this process. Its default export is a function
 * `(args, ranks) => result`, where `ranks` is a {@link ThreadRanks}. Returns the results, by rank, as
 * structured clones. Threads stay for later runs of the same module on as many ranks, until another
 * module runs or a rank fails, so state of the module and of tfjs stays, too. Runs follow one another
 * in the order of the calls.
 *
 * @throws AccError `ACC_RANK_FAILED` with the error of each rank that failed, the first one first;
 * `ACC_RANKS_TIMEOUT`; `ACC_BAD_OPTION`, `ACC_UNKNOWN_OPTION`.
 */
export async function runOnThreads<Result = unknown, Args = unknown>(
  options: RunOnThreadsOptions<Args>,
): Promise<Result[]> {
  checkKeys('runOnThreads', options, KEYS);
  const { ranks } = options;
  if (!Number.isInteger(ranks) || ranks < 1) {
    throw new AccError('ACC_BAD_OPTION', `runOnThreads: ranks must be a whole number from 1, not ${ranks}.`, {
      help: 'Give the number of ranks: runOnThreads({ ranks: 2, … }).',
    });
  }
  const run = last.then(() => runNext(options));
  last = run.catch(() => undefined);
  return (await run) as Result[];
}

/** Ends the threads that stay for later runs. Call it when no run is going on. */
export async function closeThreads(): Promise<void> {
  const job = kept;
  kept = undefined;
  await job?.end();
}

async function runNext({
  module,
  ranks,
  args,
  timeoutMs = 240_000,
}: RunOnThreadsOptions): Promise<unknown[]> {
  const path = resolve(module instanceof URL ? fileURLToPath(module) : module);
  if (kept?.module !== path) {
    await kept?.end();
    kept = await ThreadJob.start(path);
  }
  const job = kept;
  const reports = await job.run(ranks, args, timeoutMs);
  if (reports?.every((report) => 'value' in report)) return reports.map(({ value }) => value);
  const error = reports ? failed(reports, (stack) => job.inSources(stack)) : timedOut(ranks, timeoutMs);
  // The state of threads that failed is unknown.
  await job.endThreads(ranks);
  throw error;
}

function timedOut(ranks: number, timeoutMs: number): AccError {
  return new AccError('ACC_RANKS_TIMEOUT', `Not all of ${ranks} ranks had a result after ${timeoutMs} ms.`, {
    help: 'Check what the ranks were doing, or increase timeoutMs.',
    details: { timeoutMs },
  });
}

type FailureReport = Exclude<ThreadReport, { value: unknown }>;

function failed(reports: readonly ThreadReport[], inSources: (stack: string) => string): AccError {
  const failures = reports
    .flatMap((report, rank) => ('order' in report ? [{ rank, ...report }] : []))
    .sort((a, b) => a.order - b.order);
  const lines = failures.map(
    ({ rank, ...failure }, i) => `rank ${rank}: ${told(failure, i === 0, inSources)}`,
  );
  return new AccError(
    'ACC_RANK_FAILED',
    `${failures.length} of ${reports.length} ranks failed.\n${lines.join('\n')}`,
    {
      help: 'Correct the first one. Others may have failed because of it.',
      details: { failed: failures.map(({ rank, code, message }) => ({ rank, code, message })) },
    },
  );
}

function told(
  { message, stack }: FailureReport,
  isFirst: boolean,
  inSources: (stack: string) => string,
): string {
  return inSources(isFirst && stack !== undefined ? stack : message);
}
