import { availableParallelism } from 'node:os';
import { bindRanks, type RankCpus } from './cpus/binding.js';
import {
  compileCacheFolder,
  shareOfCores,
  tensorflowThreads,
  threadsPerRank,
  type JobEnvironment,
  type Threads,
} from './environment.js';
import type { LaunchPlan } from './options.js';
import { checkRanksOnHost } from './oversubscription.js';

/** Settings that the ranks of this host share, whatever their place in the job. */
export interface HostSettings {
  readonly env: NodeJS.ProcessEnv;
  readonly job: JobEnvironment;
  /** By local rank. Undefined: ranks are not bound. */
  readonly cpus: readonly RankCpus[] | undefined;
  /** By local rank. */
  readonly threads: readonly Threads[];
}

/**
 * @param env The environment of the launcher. The plan's variables come before it.
 * @throws AccError The errors of `checkRanksOnHost` and `bindRanks`.
 */
export async function hostSettings(plan: LaunchPlan, env: NodeJS.ProcessEnv): Promise<HostSettings> {
  const own = { ...env, ...plan.env };
  const warning = plan.dryRun ? undefined : checkRanksOnHost(plan);
  if (warning) process.stderr.write(`acc: ${warning}\n`);
  const cpus = bindRanks(plan.cpuBind, plan.nproc);
  const threads = Array.from({ length: plan.nproc }, (_, localRank): Threads => {
    const openmp = threadsPerRank(
      plan,
      own,
      cpus?.[localRank]?.threads ?? shareOfCores(availableParallelism(), plan.nproc),
    );
    return { openmp, tensorflow: tensorflowThreads(openmp, own) };
  });
  const { findLibtorch, readEnvironment } = await import('@acc/native');
  const job: JobEnvironment = {
    restarts: plan.maxRestarts > 0 ? { count: 0, failed: 0, max: plan.maxRestarts } : undefined,
    // Searched once for all ranks, because the search may start Python.
    libtorch: own.ACC_LIBTORCH ? undefined : findLibtorch()?.root,
    compileCache: compileCacheFolder(readEnvironment(own).cacheDir, own),
    networkInterface: plan.networkInterface,
    rescues: undefined,
  };
  // A launcher that a rank starts has other ranks.
  const { ACC_RESCUE_DIR: _, ...inherited } = env;
  return { env: inherited, job, cpus, threads };
}

/**
 * The settings for a later start of the job.
 *
 * @param rescues Where ranks keep their state. Default: as before.
 */
export function atStart(
  host: HostSettings,
  restarts: JobEnvironment['restarts'],
  rescues = host.job.rescues,
): HostSettings {
  return { ...host, job: { ...host.job, restarts, rescues } };
}
