import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Member } from './member.js';

/**
 * The CPU cores that this process may run on, as a list such as `0-3,8`. Undefined if the system
 * does not report it, as only Linux does.
 */
export function allowedCores(platform: NodeJS.Platform = process.platform): string | undefined {
  if (platform !== 'linux') return undefined;
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
}

/**
 * The number of cores that a rank has to itself, at least 1. Divides `cores` among the ranks of the
 * same host with the same list of cores. Cluster launchers give each rank its own cores, or give
 * every rank of a host all of them.
 *
 * @param cores The number of cores that this rank may run on.
 */
export function coresOfRank(
  members: readonly Member[],
  rank: number,
  cores: number = os.availableParallelism(),
): number {
  const local = members[rank]!;
  const sharing = members.filter(({ host, cpus }) => host === local.host && cpus === local.cpus).length;
  return Math.max(1, Math.floor(cores / sharing));
}
