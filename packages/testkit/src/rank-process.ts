import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { freePort } from '@acc/platform/ports';
import type { RankPlace } from '@acc/contract';

/** The processes of a job: what they run, how many there are, and their settings. */
export interface RankCommand {
  /** The arguments of `node`. */
  readonly command: readonly string[];
  readonly ranks: number;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly cwd?: string | undefined;
  /** Whether messages can be sent to the process and back. */
  readonly hasMessages?: boolean;
}

/** The output of a rank so far. */
export interface Printed {
  stdout: string;
  stderr: string;
}

/** The variables with which the ranks of one job find each other. */
export async function newJobEnvironment(): Promise<Record<string, string>> {
  return {
    MASTER_PORT: String(await freePort('127.0.0.1')),
    ACC_JOB_TOKEN: randomBytes(16).toString('hex'),
  };
}

/** Starts one rank with torchrun's environment, and collects its output. */
export function startRank(
  { command, ranks, env, cwd, hasMessages = false }: RankCommand,
  rank: number,
  jobEnv: Readonly<Record<string, string>>,
): { child: ChildProcess; printed: Printed } {
  const child = spawn(process.execPath, command, {
    cwd,
    // Each rank has its own process group, so that its child processes can be ended with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(hasMessages ? (['ipc'] as const) : [])],
    env: {
      OMP_NUM_THREADS: String(Math.max(1, Math.floor(availableParallelism() / ranks))),
      ...process.env,
      ...jobEnv,
      MASTER_ADDR: '127.0.0.1',
      RANK: String(rank),
      LOCAL_RANK: String(rank),
      WORLD_SIZE: String(ranks),
      LOCAL_WORLD_SIZE: String(ranks),
      GROUP_RANK: '0',
      ...env,
    },
  });
  const printed: Printed = { stdout: '', stderr: '' };
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (printed.stdout += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text));
  // A child process that outlives its rank would keep the pipes open.
  child.once('exit', () => killGroup(child));
  return { child, printed };
}

/** Kills a running rank with its process group, and closes pipes that other processes hold open. */
export function killRank(child: ChildProcess): void {
  if (child.exitCode === null && child.signalCode === null) killGroup(child);
  child.stdout?.destroy();
  child.stderr?.destroy();
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // ESRCH: no process of the group is left. EPERM on macOS: only zombies are left.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/**
 * The place of this process in its job, from the variables of `runRanks` or `acc launch`. It can be
 * passed to `joinGroup` of `@acc/collective`.
 */
export function startedRank(): RankPlace {
  const { RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, ACC_JOB_TOKEN } = process.env;
  return {
    rank: Number(RANK),
    size: Number(WORLD_SIZE),
    masterAddress: MASTER_ADDR!,
    masterPort: Number(MASTER_PORT),
    jobToken: ACC_JOB_TOKEN!,
    isOneHost: LOCAL_WORLD_SIZE === WORLD_SIZE,
  };
}
