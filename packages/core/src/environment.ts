import { AccError, type Collective } from '@acc/contract';
import { environment } from '@acc/platform';
import { configured } from '#platform/configuration';
import { launchedPlace } from '#platform/launchers';
import type { AcceleratorOptions } from './options.js';
import { integer, type JobPlace, type Variables } from './launchers/variables.js';

/** The settings that the launcher gives a process. Only this file reads the environment. */
export interface LaunchEnvironment extends JobPlace {
  /** Whether OMP_NUM_THREADS gives the number of threads of a rank, as under `acc launch`. */
  readonly hasThreads: boolean;
  readonly networkInterface: string | undefined;
  /** Undefined if the launcher keeps nothing for a restart. */
  readonly rescue: RescuePlace | undefined;
}

/** Where a rank keeps its state for the next start of the job. */
export interface RescuePlace {
  /** A folder in the memory of the host, which only ranks of the job use. */
  readonly folder: string;
  /** The number of earlier starts. */
  readonly round: number;
  /** Whether this is the first rank of its host. */
  readonly isSpeaker: boolean;
  /** The number of ranks of the host. */
  readonly ranks: number;
}

/** The place of a program that was started without a launcher. */
const ALONE: JobPlace = {
  rank: 0,
  size: 1,
  localRank: 0,
  localSize: 1,
  masterAddress: '127.0.0.1',
  masterPort: 0,
  jobToken: 'default',
};

/**
 * Reads the variables of `acc launch`, torchrun, mpirun or srun. A launcher that was started by
 * another one takes precedence: `acc launch` may run under srun, and mpirun under Slurm.
 *
 * @throws AccError `ACC_ENVIRONMENT` for a variable that is missing or not a number in range.
 */
export function readLaunchEnvironment(env: Variables = environment()): LaunchEnvironment {
  const place = launchedPlace(env) ?? ALONE;
  return {
    ...place,
    jobToken: env['ACC_JOB_TOKEN'] || place.jobToken,
    hasThreads: Boolean(env['OMP_NUM_THREADS']),
    networkInterface: env['GLOO_SOCKET_IFNAME'] || undefined,
    rescue: rescuePlace(env, place),
  };
}

/**
 * The place of this rank in a collective of the program. If the collective does not know the hosts
 * of its ranks, they count as ranks of one host.
 *
 * @throws AccError `ACC_INVALID_OPTION` if a launcher gave this process another place.
 */
export function placeIn({ rank, size, hosts }: Collective, launched: LaunchEnvironment): LaunchEnvironment {
  if (launched.size > 1 && (launched.rank !== rank || launched.size !== size)) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `collective has rank ${rank} of ${size}, but this process was launched as rank ${launched.rank} of ${launched.size}.`,
      { help: 'Give a collective of all ranks of the job, in their order, or leave collective out.' },
    );
  }
  const all = Array.from({ length: size }, (_, one) => one);
  const local = hosts ? all.filter((one) => hosts[one] === hosts[rank]) : all;
  return { ...launched, rank, size, localRank: local.indexOf(rank), localSize: local.length };
}

/**
 * The program's options with those that ACC_* variables and the config file give besides.
 *
 * @throws AccError `ACC_CONFIG_MISSING`, `ACC_CONFIG_INVALID`, `ACC_UNKNOWN_OPTION`,
 * `ACC_INVALID_OPTION`, `ACC_OPTIONS_DISAGREE`.
 */
export function configuredOptions(options: AcceleratorOptions): Promise<AcceleratorOptions> {
  return configured(options, environment());
}

function rescuePlace(env: Variables, { localRank, localSize }: JobPlace): RescuePlace | undefined {
  const folder = env['ACC_RESCUE_DIR'];
  if (!folder) return undefined;
  const round = integer(env, 'ACC_RESTART_COUNT', { min: 0, fallback: 0 });
  return { folder, round, isSpeaker: localRank === 0, ranks: localSize };
}
