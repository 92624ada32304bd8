import { readdirSync, readFileSync } from 'node:fs';
import { poll } from '@acc/contract';

/**
 * The time that the kernel may need after SIGKILL, in milliseconds. After that the process is stuck
 * in the kernel, and cannot be ended.
 */
const KILL_MS = 1_000;

/** The part of `process` that this file uses. */
export type GroupSystem = Pick<NodeJS.Process, 'platform' | 'kill'>;

/** How to end a process group. */
export interface Farewell {
  readonly signal: NodeJS.Signals;
  /**
   * The time until SIGKILL, in milliseconds. A rank in a collective handles no signal before the
   * collective fails, three seconds after another rank has ended. Then it finishes the runs of its
   * trackers.
   */
  readonly graceMs: number;
  /**
   * Whether only the first process gets the signal. It may need the other processes to finish.
   * Default false.
   */
  readonly isToLeader?: boolean;
}

/**
 * Ends a process group: sends the signal, and SIGKILL after the grace period or as soon as `hurry`
 * is aborted. Resolves when no process of the group runs.
 */
export async function endGroup(
  group: number,
  { signal, graceMs, isToLeader = false }: Farewell,
  hurry: AbortSignal,
  system: GroupSystem = process,
): Promise<void> {
  if (!sendSignal(isToLeader ? group : -group, signal, system)) return;
  const hasEnded = () => !isGroupRunning(group, system) || undefined;
  await poll(hasEnded, { timeoutMs: graceMs, signal: hurry });
  if (!sendSignal(-group, 'SIGKILL', system)) return;
  await poll(hasEnded, { timeoutMs: KILL_MS });
}

/** Sends a signal to the first process of a group. */
export function signalLeader(group: number, signal: NodeJS.Signals): void {
  sendSignal(group, signal, process);
}

/**
 * Sends a signal; signal 0 only checks. Returns false if the receiver no longer exists.
 *
 * @param receiver A process, or -1 times a group.
 */
function sendSignal(receiver: number, signal: NodeJS.Signals | 0, system: GroupSystem): boolean {
  try {
    return system.kill(receiver, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ESRCH: no process of the group is left. EPERM on macOS: only zombies are left.
    if (code === 'ESRCH' || code === 'EPERM') return false;
    throw error;
  }
}

/**
 * Whether a process of the group runs. Signals also reach zombies, and in a container whose first
 * process does not reap orphans, zombies stay forever. Therefore on Linux the state of each process
 * is read.
 */
function isGroupRunning(group: number, system: GroupSystem): boolean {
  if (!sendSignal(-group, 0, system)) return false;
  if (system.platform !== 'linux') return true;
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && runsInGroup(name, group));
}

function runsInGroup(pid: string, group: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // The process ended between the two reads.
    return false;
  }
  // Format: pid (name) state parent group …. The name may contain any character, including
  // parentheses.
  const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(pgrp) === group && state !== 'Z' && state !== 'X';
}
