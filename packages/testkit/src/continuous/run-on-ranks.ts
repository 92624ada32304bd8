import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AccError, checkKeys } from '@acc/contract';
import { scriptArguments } from '@acc/transpile';
import { decodeResult, encodeResult } from '../rank-result.js';
import { type Job, type RankRun } from './job.js';
import { RUNS_CHANNEL, type RunBegins } from './messages.js';
import { Pool } from './pool.js';
import type { RunOnRanksOptions } from './run-options.js';

const KEYS = ['module', 'ranks', 'args', 'env', 'group', 'warmUp', 'timeoutMs'];
const pool = Pool.ofThisProcess();
const runs = channel(RUNS_CHANNEL);

/**
 * Runs a module on `ranks` continuous processes: processes that an earlier call with the same number
 * of ranks, environment and group options has started are used again. Returns what the module
 * returned on each rank, in the order of the ranks. Processes end with this one.
 *
 * After the module, each rank must be as before: no more tensors, native memory, variables, patches
 * of tfjs, listeners, timers, open files and shared memory, and the same settings. A module that
 * fails or leaves something behind ends its job, and the next call starts another. Tests of
 * processes that end, or that print, use `runRanks`.
 *
 * @throws AccError `ACC_RANK_FAILED` with the error and the output of each rank that failed;
 * `ACC_RANKS_TIMEOUT`; `ACC_RANK_LEFT_BEHIND` with the things that the module left, by rank.
 */
export async function runOnRanks<T = unknown>(options: RunOnRanksOptions): Promise<T[]> {
  checkKeys('runOnRanks', options, KEYS);
  const { ranks, args, timeoutMs = 240_000 } = options;
  if (!Number.isInteger(ranks) || ranks < 1) {
    throw new AccError('ACC_BAD_OPTION', `runOnRanks: ranks must be a whole number from 1, not ${ranks}.`, {
      help: 'Give the number of ranks: runOnRanks({ ranks: 2, … }).',
    });
  }
  const url = await urlOf(options.module);
  const { job, isNew } = await pool.take(options, (started) => warmUp(started, options));
  try {
    const id = randomUUID();
    runs.publish({ id, ranks, isContinuous: true, isNewJob: isNew } satisfies RunBegins);
    const found = await job.run({ id, url, args: encodeResult(args) }, timeoutMs);
    requireSuccess(options, job, found);
    return found.map(({ result }) => decodeResult(result!) as T);
  } finally {
    pool.giveBack(job);
  }
}

/** Ends the continuous ranks of this process that wait for a module. The next call starts others. */
export function closeRanks(): void {
  pool.close();
}

async function warmUp(job: Job, { warmUp, group }: RunOnRanksOptions): Promise<void> {
  if (warmUp === undefined) return;
  const message = { id: randomUUID(), url: await urlOf(warmUp), args: encodeResult(group) };
  const found = await job.run(message, 240_000);
  requireSuccess(
    { module: warmUp },
    job,
    found.map((run) => ({ ...run, left: [] })),
  );
  job.isSpoiled = false;
}

/** The URL of the module in JavaScript. */
async function urlOf(module: string | URL): Promise<string> {
  const path = module instanceof URL ? fileURLToPath(module) : module;
  const found = import.meta.url.endsWith('.ts') ? [path] : await scriptArguments(path);
  if (found.includes('--import')) {
    throw new AccError(
      'ACC_BAD_OPTION',
      `runOnRanks: ${path} needs a loader of TypeScript while it runs, which continuous ranks do not have.`,
      {
        help: 'Start it with runRanks. A module needs a loader if it starts processes or workers, or imports files by computed names.',
      },
    );
  }
  return pathToFileURL(found.at(-1)!).href;
}

function requireSuccess(
  { module }: Pick<RunOnRanksOptions, 'module'>,
  job: Job,
  found: readonly RankRun[],
): void {
  const failed = found.filter(({ error }) => error !== undefined);
  if (failed.length > 0) {
    const reasons = failed.map(
      ({ rank, error }) => `rank ${rank}: ${error}\n${job.printed[rank]!.stderr.slice(-4_000)}`,
    );
    throw new AccError(
      failed.every(({ isLate }) => isLate) ? 'ACC_RANKS_TIMEOUT' : 'ACC_RANK_FAILED',
      `${failed.length} of ${found.length} ranks failed in ${String(module)}.\n${reasons.join('\n')}`,
      { help: 'Correct the module.', details: { failed } },
    );
  }
  const left = found.filter((run) => run.left.length > 0);
  if (left.length === 0) return;
  throw new AccError(
    'ACC_RANK_LEFT_BEHIND',
    `${String(module)} left something behind:\n${left.map((run) => `  rank ${run.rank}: ${run.left.join(', ')}`).join('\n')}`,
    {
      help: 'Dispose tensors, variables and models, call freeMemory, and undo settings before the module returns.',
      details: { left: left.map(({ rank, left }) => ({ rank, left })) },
    },
  );
}
