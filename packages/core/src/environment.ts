import { environment } from '@acc/platform';
import { configured } from '#platform/configuration';
import { launchedPlace, rescuePlace } from '#platform/launchers';
import type { AcceleratorOptions } from './options.js';
import type { RescuePlace } from './launchers/rescue-place.js';
import type { JobPlace, Variables } from './launchers/variables.js';

/** The settings that the launcher gives a process. Only this file reads the environment. */
export interface LaunchEnvironment extends JobPlace {
  /** Whether OMP_NUM_THREADS gives the number of threads of a rank, as under `acc launch`. */
  readonly hasThreads: boolean;
  readonly networkInterface: string | undefined;
  /** Undefined if the launcher keeps nothing for a restart. */
  readonly rescue: RescuePlace | undefined;
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
 * Reads the variables of `acc launch`, torchrun, mpirun, jsrun or srun. A launcher that was started by
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
 * The program's options with those that ACC_* variables and the config file give besides.
 *
 * @throws AccError `ACC_CONFIG_MISSING`, `ACC_CONFIG_INVALID`, `ACC_UNKNOWN_OPTION`,
 * `ACC_INVALID_OPTION`, `ACC_OPTIONS_DISAGREE`.
 */
export function configuredOptions(options: AcceleratorOptions): Promise<AcceleratorOptions> {
  return configured(options, environment());
}
