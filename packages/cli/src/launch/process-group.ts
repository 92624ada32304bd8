import { readdirSync, readFileSync } from 'node:fs';
import { poll } from '@acc/contract';

/** Between the polite signal and SIGKILL. */
export const GRACE_MS = 3_000;
/** After SIGKILL: what the kernel may need. Longer means a process stuck in the kernel, which nobody can end. */
const KILL_MS = 1_000;

/** Sends a signal to every process of a group. */
export function signalGroup(group: number, signal: NodeJS.Signals): void {
  sendSignal(group, signal);
}

/** How a process group is ended. */
export interface Farewell {
  readonly signal: NodeJS.Signals;
  /** Until SIGKILL. Default {@link GRACE_MS}. */
  readonly graceMs?: number;
  /** Whether the first process alone gets the signal: others may be what it needs to come to an end. Default false. */
  readonly isToLeader?: boolean;
}

/**
 * Ends a process group: the signal first, SIGKILL after the grace period or as soon as `hurry` is aborted. Resolves
 * when nothing of the group runs.
 */
export async function endGroup(
  group: number,
  { signal, graceMs = GRACE_MS, isToLeader = false }: Farewell,
  hurry: AbortSignal,
): Promise<void> {
  if (!sendSignal(group, signal, isToLeader)) return;
  const hasEnded = () => !isGroupRunning(group) || undefined;
  await poll(hasEnded, { timeoutMs: graceMs, signal: hurry });
  if (!sendSignal(group, 'SIGKILL')) return;
  await poll(hasEnded, { timeoutMs: KILL_MS });
}

/** Sends a signal to the first process of a group. */
export function signalLeader(group: number, signal: NodeJS.Signals): void {
  sendSignal(group, signal, true);
}

/** Signal 0 only asks. False when the group, or its leader, is no more. */
function sendSignal(group: number, signal: NodeJS.Signals | 0, isToLeader = false): boolean {
  try {
    return process.kill(isToLeader ? group : -group, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ESRCH: nothing of the group is left; EPERM: only zombies are, on macOS.
    if (code === 'ESRCH' || code === 'EPERM') return false;
    throw error;
  }
}

/**
 * Whether a process of the group runs. A signal reaches zombies too, and in a container whose first process
 * reaps no orphans they stay for ever, so Linux is asked for each process's state.
 */
function isGroupRunning(group: number): boolean {
  if (!sendSignal(group, 0)) return false;
  if (process.platform !== 'linux') return true;
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && runsInGroup(name, group));
}

function runsInGroup(pid: string, group: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // It ended between the two reads.
    return false;
  }
  // pid (name) state parent group …; the name may hold anything, parentheses too.
  const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(pgrp) === group && state !== 'Z' && state !== 'X';
}
