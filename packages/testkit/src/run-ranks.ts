import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AccError, checkKeys } from '@acc/contract';
import { scriptArguments, tsxArguments } from '@acc/transpile';
import { RUNS_CHANNEL, type RunBegins } from './continuous/messages.js';
import { endWithThisProcess } from './end-with-parent.js';
import { killRank, newJobEnvironment, startRank, type Printed } from './rank-process.js';
import { parseResult } from './rank-result.js';

export interface RunRanksOptions {
  /** The JavaScript or TypeScript file that every rank runs. */
  readonly script: string | URL;
  /** The number of processes, all on this host. */
  readonly ranks: number;
  /** The arguments of the script. Default: none. */
  readonly args?: readonly string[];
  /**
   * Environment variables in addition to those of this process and the launcher. Undefined removes
   * a variable.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Options of `node` itself, before the script. Default: none. */
  readonly nodeArgs?: readonly string[];
  /** The working directory of the ranks. Default: that of this process. */
  readonly cwd?: string;
  /** All ranks are killed if they have not ended after this time, in milliseconds. Default 240,000. */
  readonly timeoutMs?: number;
}

/** How one rank ended. `T` is the type of the script's result, which is not checked. */
export interface RankResult<T = unknown> {
  readonly rank: number;
  /** Null if a signal ended the rank. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The value that the script passed to `reportResult`. Undefined if it did not call it. */
  readonly result: T | undefined;
}

const runs = channel(RUNS_CHANNEL);
const KEYS = ['script', 'ranks', 'args', 'env', 'nodeArgs', 'cwd', 'timeoutMs'];

/**
 * Runs a script on `ranks` processes with torchrun's environment (RANK, WORLD_SIZE, MASTER_ADDR,
 * MASTER_PORT, …). Returns how each ended, in the order of the ranks. A failing rank does not end
 * the others, because tests check how they react. All processes in the ranks' process groups are
 * ended, even if this process is killed.
 *
 * @throws AccError `ACC_RANKS_TIMEOUT` with the output of the ranks; `ACC_RANK_RESULT` for a
 * damaged result line of a rank that ended without an error.
 */
export async function runRanks<T = unknown>(options: RunRanksOptions): Promise<RankResult<T>[]> {
  checkKeys('runRanks', options, KEYS);
  const { ranks, timeoutMs = 240_000 } = options;
  if (!Number.isInteger(ranks) || ranks < 1) {
    throw new AccError('ACC_BAD_OPTION', `runRanks: ranks must be a whole number from 1, not ${ranks}.`, {
      help: 'Give the number of ranks: runRanks({ ranks: 2, … }).',
    });
  }
  const command = await nodeCommand(options);
  const jobEnv = await newJobEnvironment();
  runs.publish({ id: randomUUID(), ranks, isContinuous: false, isNewJob: true } satisfies RunBegins);
  const running = Array.from({ length: ranks }, (_, rank) =>
    startRank({ ...options, command }, rank, jobEnv),
  );
  const killAll = (): void => running.forEach(({ child }) => killRank(child));
  // A test runner that aborts the test exits here. If it is killed, the pipe of the watcher closes.
  process.once('exit', killAll);
  // If a test runner is killed, its worker gets this event, but keeps running as long as ranks run.
  process.once('disconnect', killAll);
  const stopWatching = endWithThisProcess(running.map(({ child }) => child));
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killAll();
  }, timeoutMs);
  try {
    const results = await Promise.all(running.map((started, rank) => endOf(rank, started)));
    if (timedOut) throw timeoutError(results, timeoutMs);
    return results.map((result) => ({ ...result, result: resultOf(result) as T | undefined }));
  } finally {
    clearTimeout(timer);
    killAll();
    stopWatching();
    process.off('exit', killAll);
    process.off('disconnect', killAll);
  }
}

/**
 * As {@link runRanks}, for ranks that are to succeed. Returns the value that each rank passed to
 * `reportResult`, in the order of the ranks.
 *
 * @throws AccError also `ACC_RANK_FAILED` with the end of the stderr of each rank that did not exit
 * with 0 or reported nothing.
 */
export async function resultsOfRanks<T = unknown>(options: RunRanksOptions): Promise<T[]> {
  const ended = await runRanks<T>(options);
  const failed = ended.filter(({ exitCode, result }) => exitCode !== 0 || result === undefined);
  if (failed.length === 0) return ended.map(({ result }) => result as T);
  const reasons = failed.map(
    ({ rank, exitCode, signal, stderr }) =>
      `rank ${rank}: ${exitCode === 0 ? 'it reported no result' : (signal ?? `exit code ${exitCode}`)}\n${stderr.slice(-4_000)}`,
  );
  throw new AccError(
    'ACC_RANK_FAILED',
    `${failed.length} of ${ended.length} ranks failed.\n${reasons.join('\n')}`,
    {
      help: 'Correct the script. To examine ranks that fail, call runRanks.',
      details: { failed },
    },
  );
}

type RankOutput = Omit<RankResult, 'result'>;

/** A rank that failed may have left half a line, which must not hide how it failed. */
function resultOf({ stdout, exitCode }: RankOutput): unknown {
  try {
    return parseResult(stdout);
  } catch (error) {
    if (exitCode === 0) throw error;
    return undefined;
  }
}

async function endOf(
  rank: number,
  { child, printed }: { child: ChildProcess; printed: Printed },
): Promise<RankOutput> {
  const [exitCode, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { rank, exitCode, signal, ...printed };
}

async function nodeCommand({ script, nodeArgs = [], args = [], cwd }: RunRanksOptions): Promise<string[]> {
  const path = resolve(cwd ?? '.', script instanceof URL ? fileURLToPath(script) : script);
  // Ranks load the workspace's packages like this process does: from source in a checkout,
  // otherwise as built.
  const program = import.meta.url.endsWith('.ts')
    ? ['--conditions=@acc/source', ...tsxArguments(path)]
    : await scriptArguments(path, cwd);
  return [...nodeArgs, ...program, ...args];
}

function timeoutError(results: readonly RankOutput[], timeoutMs: number): AccError {
  const printed = results.map(
    ({ rank, exitCode, stdout, stderr }) =>
      `rank ${rank} ${exitCode === null ? 'was still running' : `had ended with ${exitCode}`}\n` +
      [stdout, stderr].map((text) => text.slice(-2_000)).join(''),
  );
  return new AccError(
    'ACC_RANKS_TIMEOUT',
    `Not all of ${results.length} ranks ended within ${timeoutMs} ms.\n${printed.join('\n')}`,
    { help: 'Check which rank was still running, or increase timeoutMs.', details: { results, timeoutMs } },
  );
}
