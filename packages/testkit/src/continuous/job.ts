import type { ChildProcess } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tsxOptions } from '@acc/transpile';
import { endWithThisProcess } from '../end-with-parent.js';
import { killRank, newJobEnvironment, startRank, type Printed, type RankCommand } from '../rank-process.js';
import { JOBS_CHANNEL, type Answer, type JobEnds, type RunMessage } from './messages.js';

/** How a run ended on one rank. */
export interface RankRun {
  readonly rank: number;
  /** Encoded. Undefined if the rank failed. */
  readonly result?: string;
  readonly left: readonly string[];
  /** The error of the module, or how the process ended. */
  readonly error?: string;
  /** Whether the rank had not answered when the patience of the run ended. */
  readonly isLate?: boolean;
}

/**
 * Options of V8 that suit many short trainings with most cores busy: it collects garbage without threads
 * that keep other ranks from their cores. On Node 20 it also compiles a function later than by default,
 * because a module seldom runs it often enough to pay for that. Later versions do not know that option.
 */
const V8_OPTIONS = [
  '--single-threaded-gc',
  ...(process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []),
];

/** Ranks that wait in a collective for one that failed get this long to notice it. */
const AFTER_FAILURE_MS = 3_000;

const jobs = channel(JOBS_CHANNEL);

interface Rank {
  readonly child: ChildProcess;
  readonly printed: Printed;
}

/** The processes of one job, which run module after module. */
export class Job {
  readonly #ranks: readonly Rank[];
  readonly #stopWatching: () => void;
  readonly #killAll = (): void => this.#ranks.forEach(({ child }) => killRank(child));
  /** Whether a module failed or left something behind, so that no other may follow. */
  isSpoiled = false;
  isRunning = false;

  private constructor(ranks: readonly Rank[]) {
    this.#ranks = ranks;
    for (const { child } of ranks) {
      // A job that waits for modules does not keep the test process alive.
      child.unref();
      child.channel?.unref();
      for (const pipe of [child.stdout, child.stderr]) (pipe as unknown as { unref(): void }).unref();
    }
    this.#stopWatching = endWithThisProcess(ranks.map(({ child }) => child));
    process.once('exit', this.#killAll);
    process.once('disconnect', this.#killAll);
  }

  static async start(options: Omit<RankCommand, 'command'>): Promise<Job> {
    const host = fileURLToPath(
      new URL(import.meta.url.endsWith('.ts') ? 'host.ts' : 'continuous/host.js', import.meta.url),
    );
    const source = host.endsWith('.ts') ? ['--conditions=@acc/source', ...tsxOptions(host)] : [];
    const command = [...V8_OPTIONS, '--expose-gc', '--enable-source-maps', ...source, host];
    const jobEnv = await newJobEnvironment();
    const ranks = Array.from({ length: options.ranks }, (_, rank) =>
      startRank({ ...options, command, hasMessages: true }, rank, jobEnv),
    );
    return new Job(ranks);
  }

  /**
   * Runs a module on all ranks. If it fails on one, the others get a short time to end, too.
   */
  async run(message: RunMessage, timeoutMs: number): Promise<readonly RankRun[]> {
    this.isRunning = true;
    const patience = new AbortController();
    for (const { printed } of this.#ranks) Object.assign(printed, { stdout: '', stderr: '' });
    // A timer that keeps this process alive until the run has ended.
    const timer = setTimeout(() => patience.abort(), timeoutMs);
    const onFailure = async () => {
      await sleep(AFTER_FAILURE_MS, undefined, { ref: false });
      patience.abort();
    };
    try {
      const runs = await Promise.all(
        this.#ranks.map(async (each, rank): Promise<RankRun> => {
          const run = await answerOf(each, rank, message, patience.signal);
          if (run.error !== undefined) void onFailure();
          return run;
        }),
      );
      this.isSpoiled = runs.some(({ error, left }) => error !== undefined || left.length > 0);
      return runs;
    } finally {
      clearTimeout(timer);
      this.isRunning = false;
    }
  }

  /** The output of each rank since the last run began. */
  get printed(): readonly Printed[] {
    return this.#ranks.map(({ printed }) => ({ ...printed }));
  }

  close(): void {
    this.isSpoiled = true;
    jobs.publish({ pids: this.#ranks.flatMap(({ child }) => child.pid ?? []) } satisfies JobEnds);
    this.#killAll();
    this.#stopWatching();
    process.off('exit', this.#killAll);
    process.off('disconnect', this.#killAll);
  }
}

function answerOf(
  { child }: Rank,
  rank: number,
  message: RunMessage,
  patience: AbortSignal,
): Promise<RankRun> {
  return new Promise((resolve) => {
    const end = (run: Omit<RankRun, 'rank'>) => {
      child.off('message', onMessage).off('exit', onExit);
      patience.removeEventListener('abort', onAbort);
      resolve({ rank, ...run });
    };
    const onMessage = (answer: Answer) => {
      if (answer.id !== message.id) return;
      end('error' in answer ? { error: answer.error, left: [] } : answer);
    };
    const onExit = (exitCode: number | null, signal: string | null) =>
      end({ error: `it ended by ${signal ?? `exit code ${exitCode}`}`, left: [] });
    const onAbort = () => end({ error: 'it was still running', isLate: true, left: [] });
    child.on('message', onMessage).on('exit', onExit);
    patience.addEventListener('abort', onAbort);
    if (!child.connected) return onExit(child.exitCode, child.signalCode);
    child.send(message);
  });
}
