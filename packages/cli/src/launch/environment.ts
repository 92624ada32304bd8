import module from 'node:module';
import { join } from 'node:path';
import type { LaunchPlan } from './options.js';
import type { Placement } from './share-of-host.js';

/** Settings that all ranks of a host share. */
export interface JobEnvironment {
  /**
   * The number of earlier starts of the job, how many of them failed, and how many failures the job
   * survives. Undefined if the job is never restarted.
   */
  readonly restarts: { readonly count: number; readonly failed: number; readonly max: number } | undefined;
  /**
   * The folder of the libtorch that all ranks use. Undefined: the user's variable remains, if any.
   */
  readonly libtorch: string | undefined;
  /** Where ranks keep their state for the next start. Undefined: they keep none. */
  readonly rescues: string | undefined;
  /** Undefined: the user's variable remains, if any. */
  readonly networkInterface: string | undefined;
  /** Where Node.js keeps the compiled code of modules. Undefined: the user's variable remains, if any. */
  readonly compileCache: string | undefined;
}

/** The numbers of threads of a rank. Undefined: the user's variables remain. */
export interface Threads {
  readonly openmp: number | undefined;
  /** Of each pool of tfjs-node's TensorFlow. */
  readonly tensorflow: number | undefined;
}

/**
 * The environment variables of the rank with number `localRank` on this host. Names and meanings
 * are those of torchrun.
 */
export function rankVariables(
  place: Omit<Placement, 'release'>,
  job: JobEnvironment,
  rank: { readonly localRank: number; readonly nproc: number; readonly threads: Threads },
): Record<string, string> {
  const variables: Record<string, string | number | undefined> = {
    RANK: place.firstRank + rank.localRank,
    LOCAL_RANK: rank.localRank,
    WORLD_SIZE: place.worldSize,
    LOCAL_WORLD_SIZE: rank.nproc,
    GROUP_RANK: place.nodeRank,
    GROUP_WORLD_SIZE: place.nnodes,
    MASTER_ADDR: place.endpoint.host,
    MASTER_PORT: place.endpoint.port,
    OMP_NUM_THREADS: rank.threads.openmp,
    TF_NUM_INTRAOP_THREADS: rank.threads.tensorflow,
    TF_NUM_INTEROP_THREADS: rank.threads.tensorflow,
    ACC_RESTART_COUNT: job.restarts?.count,
    ACC_MAX_RESTARTS: job.restarts?.max,
    TORCHELASTIC_RESTART_COUNT: job.restarts?.failed,
    TORCHELASTIC_MAX_RESTARTS: job.restarts?.max,
    ACC_JOB_TOKEN: place.jobToken,
    ACC_LIBTORCH: job.libtorch,
    ACC_RESCUE_DIR: job.rescues,
    // The name that Gloo and NCCL use, which is also common for other programs of a cluster.
    GLOO_SOCKET_IFNAME: job.networkInterface,
    NCCL_SOCKET_IFNAME: job.networkInterface,
    NODE_COMPILE_CACHE: job.compileCache,
  };
  const set = Object.entries(variables).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

/**
 * The number of threads of a rank.
 *
 * @param cores Its share of the cores.
 * @returns undefined if the user's OMP_NUM_THREADS is to remain.
 */
export function threadsPerRank(
  { threads }: Pick<LaunchPlan, 'threads'>,
  env: NodeJS.ProcessEnv,
  cores: number,
): number | undefined {
  if (threads !== undefined) return threads;
  return env.OMP_NUM_THREADS ? undefined : cores;
}

/** A rank's share of the cores of its host. Ranks with more threads than cores run many times slower. */
export function shareOfCores(cores: number, nproc: number): number {
  return Math.max(1, Math.floor(cores / nproc));
}

/**
 * The number of threads of each pool of TensorFlow, which does not read OMP_NUM_THREADS and takes all
 * cores by itself.
 *
 * @param threads What {@link threadsPerRank} gave.
 * @returns undefined if the user's own variables are to remain.
 */
export function tensorflowThreads(threads: number | undefined, env: NodeJS.ProcessEnv): number | undefined {
  if (env.TF_NUM_INTRAOP_THREADS || env.TF_NUM_INTEROP_THREADS) return undefined;
  return threads ?? (Number(env.OMP_NUM_THREADS) || undefined);
}

/**
 * The folder in which Node.js keeps the compiled code of the ranks' modules, so that the next start
 * compiles nothing. Node.js 22.8 and newer have such a cache.
 *
 * @returns undefined if this Node.js has none, if the user chose, or if coverage is measured, which
 * cached code makes less exact.
 */
export function compileCacheFolder(cacheDir: string, env: NodeJS.ProcessEnv): string | undefined {
  if (!('enableCompileCache' in module)) return undefined;
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE || env.NODE_V8_COVERAGE) return undefined;
  return join(cacheDir, 'compiled');
}
