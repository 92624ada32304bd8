import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

/**
 * The settings that this folder reads from the environment. No other module in it reads settings
 * from `process.env`.
 */
export interface LibtorchEnvironment {
  /**
   * `ACC_LIBTORCH`: the folder of a libtorch or of an installed torch package. If set, no other
   * place is searched.
   */
  readonly libtorch: string | undefined;
  /** `ACC_LIBTORCH_URL`: a `.zip` or `.whl` to install from, or the base of a mirror of the official host. */
  readonly libtorchUrl: string | undefined;
  /** Absolute. `ACC_CACHE_DIR`, else `$XDG_CACHE_HOME/acc`, else `~/.cache/acc`. */
  readonly cacheDir: string;
  /** Whether an MPI launcher has started this process: mpirun, mpiexec, srun or another one. */
  readonly isMpiTask: boolean;
}

/** Variables that launchers set only for the tasks that they start: Open MPI, PMI and PMIx, MVAPICH2, Slurm, Flux, HPE, IBM. */
const OF_MPI_TASKS =
  /^(OMPI_COMM_WORLD_|PMI_|PMI2_|PMIX_|MV2_COMM_WORLD_|MPI_LOCAL|SLURM_PROCID$|FLUX_TASK_|PALS_|ALPS_|JSM_)/;

/** Reads the settings. An empty variable counts as not set. */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): LibtorchEnvironment {
  const libtorch = env['ACC_LIBTORCH'] || undefined;
  return {
    libtorch: libtorch && resolve(libtorch),
    libtorchUrl: env['ACC_LIBTORCH_URL'] || undefined,
    cacheDir: cacheDir(env),
    isMpiTask: Object.keys(env).some((name) => OF_MPI_TASKS.test(name)),
  };
}

function cacheDir(env: NodeJS.ProcessEnv): string {
  if (env['ACC_CACHE_DIR']) return resolve(env['ACC_CACHE_DIR']);
  const xdg = env['XDG_CACHE_HOME'];
  // The XDG base directory specification requires that relative paths are ignored.
  return xdg && isAbsolute(xdg) ? join(xdg, 'acc') : join(homedir(), '.cache', 'acc');
}
