import { onCpus } from './cpus/binding.js';
import { rankVariables } from './environment.js';
import type { HostSettings } from './host-settings.js';
import { logPaths } from './log-file.js';
import type { LaunchPlan, LogPlan } from './options.js';
import type { Placement } from './share-of-host.js';
import type { RankCommand } from './rank-process.js';
import type { Program } from './script.js';

/** The commands of the ranks of this host, in the order of local ranks. */
export function rankCommands(
  { nproc, logs, env }: Pick<LaunchPlan, 'nproc' | 'logs' | 'env'>,
  place: Omit<Placement, 'release'>,
  host: HostSettings,
  program: Program,
): RankCommand[] {
  return Array.from({ length: nproc }, (_, localRank): RankCommand => {
    const rank = place.firstRank + localRank;
    const cpus = host.cpus?.[localRank];
    return {
      rank,
      command: [...onCpus(cpus), ...program] as unknown as Program,
      env: host.env,
      variables: {
        ...env,
        ...rankVariables(place, host.job, { localRank, nproc, threads: host.threads[localRank]! }),
      },
      isForeground: localRank === 0,
      cpus,
      logs: logs && logPaths(logs.folder, host.job.restarts?.count ?? 0, rank),
      isShown: isShown(logs, rank),
    };
  });
}

function isShown(logs: LogPlan | undefined, rank: number): boolean {
  return !logs || logs.tee === 'all' || logs.tee.includes(rank);
}
