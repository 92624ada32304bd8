import { AccError, checkKeys } from '@acc/contract';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asDiskError } from './disk.js';
import { readEnvironment } from './environment.js';
import { packageRoot } from './package-root.js';
import { requirePlatform } from './platform.js';
import { createStaging } from './staging.js';

/** The library of the engine `mpi`, built for one MPI. */
export interface MpiLibrary {
  readonly path: string;
  /** The compiler that built it, as the user named it. */
  readonly mpicc: string;
}

export interface BuildMpiOptions {
  /** The MPI compiler of the cluster. Default `mpicc`. */
  readonly mpicc?: string;
}

const SOURCES = ['acc_mpi.h', 'acc_mpi.c'];

/** The library that {@link buildMpi} has built for this version. Undefined if there is none. */
export function locateMpi(): MpiLibrary | undefined {
  const folder = mpiCacheFolder();
  const path = join(folder, 'acc_mpi.so');
  const note = join(folder, 'mpicc');
  return existsSync(path) && existsSync(note) ? { path, mpicc: readFileSync(note, 'utf8') } : undefined;
}

/**
 * Why this process cannot use the engine `mpi`. Undefined if it can, as far as that is known before MPI
 * starts, which ends a process that no launcher of MPI has started and that cannot start its daemon.
 */
export function mpiUnavailableReason(): string | undefined {
  if (!locateMpi()) return 'the MPI engine is not built on this host; run: npx acc setup --mpi';
  if (readEnvironment().isMpiTask) return undefined;
  return 'neither mpirun nor srun started it; start the program with one of them';
}

/**
 * Compiles the engine `mpi` with the cluster's own mpicc. Replaces the result of an earlier call.
 *
 * @throws AccError `ACC_MPICC_MISSING`, `ACC_MPI_BUILD_FAILED` with the output of the compiler,
 * `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`, `ACC_PLATFORM_UNSUPPORTED`.
 */
export function buildMpi(options: BuildMpiOptions = {}): MpiLibrary {
  checkKeys('buildMpi', options, ['mpicc']);
  const { mpicc = 'mpicc' } = options;
  const destination = mpiCacheFolder();
  using staging = createStaging(dirname(destination));
  const output = join(staging.path, 'acc_mpi.so');
  const source = join(packageRoot(), 'cpp', 'mpi', 'acc_mpi.c');
  const { status, stderr, error } = spawnSync(mpicc, ['-O2', '-shared', '-fPIC', '-o', output, source], {
    encoding: 'utf8',
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
    throw new AccError('ACC_MPICC_MISSING', `The compiler '${mpicc}' was not found.`, {
      cause: error,
      help: "Load the cluster's MPI (module load openmpi; Debian: apt-get install libopenmpi-dev), or name its compiler with --mpicc.",
    });
  }
  if (error || status !== 0) {
    throw new AccError('ACC_MPI_BUILD_FAILED', `${mpicc} failed:\n${error?.message ?? stderr.trimEnd()}`, {
      cause: error,
      help: 'The build needs MPI 3.0 or newer and a C compiler.',
    });
  }
  try {
    writeFileSync(join(staging.path, 'mpicc'), mpicc);
  } catch (cause) {
    throw asDiskError(cause, staging.path);
  }
  const found = locateMpi();
  // Programs may be about to load it.
  const isSame = found?.mpicc === mpicc && readFileSync(found.path).equals(readFileSync(output));
  if (!isSame) staging.replace(staging.path, destination);
  return { path: join(destination, 'acc_mpi.so'), mpicc };
}

/**
 * The name contains everything that the library depends on, except its MPI. A machine starts its
 * programs with one MPI.
 */
function mpiCacheFolder(): string {
  const hash = createHash('sha256');
  for (const file of SOURCES) hash.update(readFileSync(join(packageRoot(), 'cpp', 'mpi', file)));
  return join(readEnvironment().cacheDir, 'mpi', `${requirePlatform()}-${hash.digest('hex').slice(0, 16)}`);
}
