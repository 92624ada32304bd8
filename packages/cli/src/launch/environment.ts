import type { LaunchPlan } from './options.js';
import type { Placement } from './placement.js';

/** What the ranks of a host have in common, beyond their place. */
export interface JobEnvironment {
  /** Threads of each rank; undefined: the user's own OMP_NUM_THREADS stays. */
  readonly threads: number | undefined;
  /** How often the job was started before, and how often that may be; undefined where it is never. */
  readonly restarts: { readonly count: number; readonly max: number } | undefined;
  /** Folder of the libtorch that all ranks take; undefined: what the user set, if anything, stays. */
  readonly libtorch: string | undefined;
  /** Undefined: what the user set, if anything, stays. */
  readonly networkInterface: string | undefined;
}

/** The launcher's variables for the rank at `localRank`, with torchrun's names and meanings. */
export function rankVariables(
  place: Omit<Placement, 'release'>,
  nproc: number,
  job: JobEnvironment,
  localRank: number,
): Record<string, string> {
  const variables: Record<string, string | number | undefined> = {
    RANK: place.firstRank + localRank,
    LOCAL_RANK: localRank,
    WORLD_SIZE: place.worldSize,
    LOCAL_WORLD_SIZE: nproc,
    GROUP_RANK: place.nodeRank,
    GROUP_WORLD_SIZE: place.nnodes,
    MASTER_ADDR: place.endpoint.host,
    MASTER_PORT: place.endpoint.port,
    OMP_NUM_THREADS: job.threads,
    TORCHELASTIC_RESTART_COUNT: job.restarts?.count,
    TORCHELASTIC_MAX_RESTARTS: job.restarts?.max,
    ACC_JOB_TOKEN: place.jobToken,
    ACC_LIBTORCH: job.libtorch,
    // Gloo's and NCCL's names for it, which other programs of a cluster know, too.
    GLOO_SOCKET_IFNAME: job.networkInterface,
    NCCL_SOCKET_IFNAME: job.networkInterface,
  };
  const set = Object.entries(variables).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

/**
 * Threads of each rank: the cores shared out, since ranks with more threads than cores run many times slower.
 *
 * @returns undefined when the user's OMP_NUM_THREADS is to stay.
 */
export function threadsPerRank(
  { nproc, threads }: Pick<LaunchPlan, 'nproc' | 'threads'>,
  env: NodeJS.ProcessEnv,
  cores: number,
): number | undefined {
  if (threads !== undefined) return threads;
  return env.OMP_NUM_THREADS ? undefined : Math.max(1, Math.floor(cores / nproc));
}
