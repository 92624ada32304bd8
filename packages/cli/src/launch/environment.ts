import type { LaunchPlan } from './options.js';

/** What the ranks of a host have in common, beyond the plan. */
export interface JobEnvironment {
  readonly masterAddr: string;
  readonly masterPort: number;
  /** Threads of each rank; undefined: the user's own OMP_NUM_THREADS stays. */
  readonly threads: number | undefined;
  /** Shared secret of the ranks; undefined: what the user set, if anything, stays. */
  readonly jobToken: string | undefined;
  /** Folder of the libtorch that all ranks take; undefined: what the user set, if anything, stays. */
  readonly libtorch: string | undefined;
}

/** The launcher's variables for the rank at `localRank`, with torchrun's names and meanings. */
export function rankVariables(
  plan: Pick<LaunchPlan, 'nproc' | 'nnodes' | 'nodeRank'>,
  job: JobEnvironment,
  localRank: number,
): Record<string, string> {
  const variables: Record<string, string | number | undefined> = {
    RANK: plan.nodeRank * plan.nproc + localRank,
    LOCAL_RANK: localRank,
    WORLD_SIZE: plan.nnodes * plan.nproc,
    LOCAL_WORLD_SIZE: plan.nproc,
    GROUP_RANK: plan.nodeRank,
    GROUP_WORLD_SIZE: plan.nnodes,
    MASTER_ADDR: job.masterAddr,
    MASTER_PORT: job.masterPort,
    OMP_NUM_THREADS: job.threads,
    ACC_JOB_TOKEN: job.jobToken,
    ACC_LIBTORCH: job.libtorch,
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
