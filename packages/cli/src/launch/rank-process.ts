import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { AccError } from '@acc/contract';
import { readReport, type ErrorReport } from '@acc/platform/uncaught';
import pc from 'picocolors';
import type { RankCpus } from './cpus/binding.js';
import type { ErrorFolder } from './error-folder.js';
import { appendToLog, openLogs, type LogPaths, type Logs } from './log-file.js';
import { endGroup, signalLeader, type Farewell } from './process-group.js';
import { Relay } from './relay.js';
import type { Screen } from './screen.js';
import { reportsErrors, type Program } from './script.js';
import type { Watchdog } from './watchdog.js';

export interface RankCommand {
  readonly rank: number;
  /** The program and its arguments. */
  readonly command: Program;
  /** The environment of the launcher. */
  readonly env: NodeJS.ProcessEnv;
  /** The variables that the rank has besides. */
  readonly variables: Readonly<Record<string, string>>;
  /**
   * Whether the rank reads the launcher's stdin and may rewrite a line of the terminal. One rank of
   * a host does.
   */
  readonly isForeground: boolean;
  /** Undefined: the rank is not bound. */
  readonly cpus: RankCpus | undefined;
  /** The files for its output. Undefined: it is only shown. */
  readonly logs: LogPaths | undefined;
  /** Whether its output is shown. */
  readonly isShown: boolean;
}

/** How a rank ended. `exitCode` is 128 + n for signal n, as in a shell. */
export interface RankExit {
  readonly rank: number;
  readonly pid: number;
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
}

/** Objects that the ranks of a job share. */
export interface RankSurroundings {
  /** Undefined: the rank uses the launcher's own stdout and stderr. */
  readonly screen: Screen | undefined;
  /** Whether lines are marked with their rank. */
  readonly prefix: boolean;
  readonly watchdog: Watchdog;
  /** The time between SIGTERM and SIGKILL for what the rank leaves behind, in milliseconds. */
  readonly graceMs: number;
  /** Aborted to end all grace periods at once. */
  readonly hurry: AbortSignal;
  /** Where ranks report the errors that end them. Undefined: they print them. */
  readonly errors: ErrorFolder | undefined;
}

const TAIL_LINES = 20;

/** One process of the job, in its own process group. */
export class RankProcess {
  readonly rank: number;
  readonly pid: number;
  readonly isReporting: boolean;
  readonly exited: Promise<RankExit>;
  readonly #relays: readonly Relay[];
  readonly #stderr: Relay | undefined;
  readonly #surroundings: RankSurroundings;
  #logPath: string | undefined;
  #error: ErrorReport | undefined;
  /** Resolves when no process of the group runs any more. */
  readonly #gone: Promise<void>;
  #isRunning = true;

  /** @throws AccError `ACC_SPAWN_FAILED`. */
  static async start(command: RankCommand, surroundings: RankSurroundings): Promise<RankProcess> {
    const output = surroundings.screen ? 'pipe' : 'inherit';
    const logs = command.logs && openLogs(command.logs);
    const [program, ...args] = command.command;
    const child = spawn(program, args, {
      env: {
        ...command.env,
        ...command.variables,
        ACC_ERROR_FILE: reportsErrors(command.command)
          ? surroundings.errors?.fileOf(command.rank)
          : undefined,
      },
      detached: true,
      stdio: [command.isForeground ? 'inherit' : 'ignore', output, output],
    });
    if (child.pid === undefined) {
      const [cause] = (await once(child, 'error')) as [Error];
      throw new AccError('ACC_SPAWN_FAILED', `Rank ${command.rank} could not be started: ${cause.message}.`, {
        help: 'Check the limit on processes (ulimit -u) and free memory, or start fewer ranks.',
        cause,
      });
    }
    surroundings.watchdog.watch(child.pid);
    return new RankProcess(Object.assign(child, { pid: child.pid, logs }), command, surroundings);
  }

  private constructor(
    child: ChildProcess & { readonly pid: number; readonly logs: Logs | undefined },
    command: RankCommand,
    surroundings: RankSurroundings,
  ) {
    const { rank, isForeground, isShown } = command;
    const { screen } = surroundings;
    const { pid } = child;
    this.rank = rank;
    this.pid = pid;
    this.isReporting = surroundings.errors !== undefined && reportsErrors(command.command);
    this.#logPath = command.logs?.stderr;
    this.#surroundings = surroundings;
    const relay = (channel: 'stdout' | 'stderr', tailLines: number): Relay | undefined => {
      const source = child[channel];
      if (!screen || !source) return undefined;
      const prefix = surroundings.prefix ? rankPrefix(rank, screen.isTerminal(channel)) : '';
      const log = child.logs?.[channel];
      return new Relay(source, { screen, channel, rank, isForeground, isShown, prefix, tailLines, log });
    };
    const stdout = relay('stdout', 0);
    this.#stderr = relay('stderr', TAIL_LINES);
    this.#relays = [stdout, this.#stderr].filter((each) => each !== undefined);
    this.exited = once(child, 'exit').then(([code, signal]) => {
      this.#isRunning = false;
      this.#error = surroundings.errors && readReport(surroundings.errors.fileOf(rank));
      return { rank, pid, exitCode: shellCode(code as number, signal as NodeJS.Signals), signal };
    });
    // Called at once, before the number of the group can be reused.
    const { graceMs, hurry } = surroundings;
    this.#gone = this.exited.then(() => endGroup(pid, { signal: 'SIGTERM', graceMs }, hurry));
  }

  /** The last lines of its stderr. Empty if it uses the launcher's own stderr. */
  get stderrTail(): readonly string[] {
    return this.#stderr?.tail ?? [];
  }

  /** The file with its stderr and its whole error. Undefined if there is none. */
  get logPath(): string | undefined {
    return this.#logPath;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The error that ended it. Undefined while it runs, and if nothing was thrown. */
  get error(): ErrorReport | undefined {
    return this.#error;
  }

  /** Waits for the rest of its stderr, but not for other processes that keep it open. */
  async finishStderr(): Promise<void> {
    await this.#stderr?.finish();
  }

  /** Ends the process group if it still runs. */
  async end(farewell: Farewell): Promise<void> {
    if (this.#isRunning) await endGroup(this.pid, farewell, this.#surroundings.hurry);
  }

  /** Sends a signal to the rank itself, not to its children. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) signalLeader(this.pid, signal);
  }

  /** Resolves when its process group has ended and its output has been forwarded. */
  async finished(): Promise<void> {
    await this.#gone;
    this.#surroundings.watchdog.forget(this.pid);
    await Promise.all(this.#relays.map((relay) => relay.finish()));
    const { error, logPath } = this;
    if (error && logPath && !appendToLog(logPath, `${error.whole}\n`)) this.#logPath = undefined;
  }
}

const COLOURS = ['cyan', 'green', 'magenta', 'yellow', 'blue', 'red'] as const;

function rankPrefix(rank: number, isTerminal: boolean): string {
  const { [COLOURS[rank % COLOURS.length]!]: colour } = pc.createColors(isTerminal && pc.isColorSupported);
  return `${colour(`[${rank}]`)} `;
}

function shellCode(code: number | null, signal: NodeJS.Signals | null): number {
  return signal ? 128 + constants.signals[signal] : (code ?? 1);
}
