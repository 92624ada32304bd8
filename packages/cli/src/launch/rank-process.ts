import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { AccError } from '@acc/contract';
import pc from 'picocolors';
import { endGroup, signalLeader, type Farewell } from './process-group.js';
import { Relay } from './relay.js';
import type { Screen } from './screen.js';
import type { Watchdog } from './watchdog.js';

export interface RankCommand {
  readonly rank: number;
  /** What `node` is given. */
  readonly nodeArguments: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The rank that reads the launcher's stdin and may rewrite a line of the terminal: there is one of each. */
  readonly isForeground: boolean;
}

/** How a rank ended: `exitCode` as a shell gives it, 128 + n for signal n. */
export interface RankExit {
  readonly rank: number;
  readonly pid: number;
  readonly exitCode: number;
  readonly signal: NodeJS.Signals | null;
}

/** What the ranks of a job share. */
export interface RankSurroundings {
  /** Undefined: the rank has the launcher's own stdout and stderr. */
  readonly screen: Screen | undefined;
  /** Whether lines are marked with their rank. */
  readonly prefix: boolean;
  readonly watchdog: Watchdog;
  /** Aborted when grace periods end at once. */
  readonly hurry: AbortSignal;
}

const TAIL_LINES = 20;

/** One process of the job, in a process group of its own. */
export class RankProcess {
  readonly rank: number;
  readonly pid: number;
  readonly exited: Promise<RankExit>;
  readonly #relays: readonly Relay[];
  readonly #stderr: Relay | undefined;
  readonly #surroundings: RankSurroundings;
  /** Resolves when nothing of the process group runs, whoever ended it. */
  readonly #gone: Promise<void>;
  #isRunning = true;

  /** @throws AccError `ACC_SPAWN_FAILED`. */
  static async start(command: RankCommand, surroundings: RankSurroundings): Promise<RankProcess> {
    const output = surroundings.screen ? 'pipe' : 'inherit';
    const child = spawn(process.execPath, command.nodeArguments, {
      env: command.env,
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
    return new RankProcess(child, child.pid, command, surroundings);
  }

  private constructor(
    child: ChildProcess,
    pid: number,
    command: RankCommand,
    surroundings: RankSurroundings,
  ) {
    const { rank, isForeground } = command;
    const { screen } = surroundings;
    this.rank = rank;
    this.pid = pid;
    this.#surroundings = surroundings;
    const relay = (channel: 'stdout' | 'stderr', tailLines: number): Relay | undefined => {
      const source = child[channel];
      if (!screen || !source) return undefined;
      const prefix = surroundings.prefix ? rankPrefix(rank, screen.isTerminal(channel)) : '';
      return new Relay(source, { screen, channel, rank, isForeground, prefix, tailLines });
    };
    const stdout = relay('stdout', 0);
    this.#stderr = relay('stderr', TAIL_LINES);
    this.#relays = [stdout, this.#stderr].filter((each) => each !== undefined);
    this.exited = once(child, 'exit').then(([code, signal]) => {
      this.#isRunning = false;
      return { rank, pid, exitCode: shellCode(code as number, signal as NodeJS.Signals), signal };
    });
    // At once, while the group's number can't have become another's.
    this.#gone = this.exited.then(() => endGroup(pid, { signal: 'SIGTERM' }, surroundings.hurry));
  }

  /** The last lines of its stderr; none where it has the launcher's own. */
  get stderrTail(): readonly string[] {
    return this.#stderr?.tail ?? [];
  }

  /** Waits for all of its stderr, though not for others that hold it open. */
  async finishStderr(): Promise<void> {
    await this.#stderr?.finish();
  }

  /** Ends the process group, if it still runs. */
  async end(farewell: Farewell): Promise<void> {
    if (this.#isRunning) await endGroup(this.pid, farewell, this.#surroundings.hurry);
  }

  /** Sends a signal to the rank itself, not to its children. */
  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) signalLeader(this.pid, signal);
  }

  /** Resolves when its process group has ended and its output has been passed on. */
  async finished(): Promise<void> {
    await this.#gone;
    this.#surroundings.watchdog.forget(this.pid);
    await Promise.all(this.#relays.map((relay) => relay.finish()));
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
