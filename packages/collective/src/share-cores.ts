import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Member } from './rendezvous.js';

/** The cores that this process may run on, as the system lists them; undefined where it doesn't say. */
export function allowedCores(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
}

/**
 * Cores that a rank has for itself, at least one: `cores`, those that it may run on, shared out over the ranks that may run
 * on the same. Launchers of clusters give each rank cores of its own, or all ranks of a host all of them.
 */
export function coresOfRank(
  members: readonly Member[],
  rank: number,
  cores: number = availableParallelism(),
): number {
  const own = members[rank]!;
  const sharing = members.filter(({ host, cpus }) => host === own.host && cpus === own.cpus).length;
  return Math.max(1, Math.floor(cores / sharing));
}
