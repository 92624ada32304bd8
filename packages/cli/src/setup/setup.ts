import { AccError, isAccError } from '@acc/contract';
import {
  buildAddon,
  buildMpi,
  findLibtorch,
  installLibtorch,
  isTestedVersion,
  locateAddon,
  ncclState,
  newestWheel,
  prebuiltLines,
  SUPPORTED_RANGE,
  type AddonFiles,
  type BuildProgress,
  type InstallProgress,
  type LibtorchInstall,
} from '@acc/native';
import { requireGlibc } from '@acc/native/install-tools';
import type { SetupProgress } from './progress.js';

export interface SetupOptions {
  /**
   * The version to install. Default: the version that is found, else the newest that this release is
   * tested with and PyTorch offers.
   */
  readonly libtorch?: string;
  /** The archive or wheel to install from: a path or URL. */
  readonly from?: string;
  /** The SHA-256 checksum of that archive, in hexadecimal. */
  readonly sha256?: string;
  /** Does not use the network. */
  readonly offline?: boolean;
  /** Builds the addon even if a prebuilt one fits. */
  readonly build?: boolean;
  /** Also builds the engine `mpi`. */
  readonly mpi?: boolean;
  /** The compiler for `mpi`. Default `mpicc`. */
  readonly mpicc?: string;
}

/**
 * Prepares this machine: installs libtorch, and a prebuilt or newly built addon for it. Existing
 * installations are kept.
 *
 * @throws AccError `ACC_PLATFORM_UNSUPPORTED` where the C library is not glibc, before anything is
 * fetched; errors of `installLibtorch` and `buildAddon` of `@acc/native`; `ACC_SETUP_CONFLICT` if
 * ACC_LIBTORCH contradicts the options.
 */
export async function setup(options: SetupOptions, progress: SetupProgress): Promise<void> {
  requireGlibc();
  const libtorch = await provideLibtorch(options, progress);
  progress.done(`libtorch ${libtorch.version} (${libtorch.variant}), ${libtorch.origin}, ${libtorch.root}`);
  if (!isTestedVersion(libtorch.version))
    progress.note(
      `torch ${libtorch.version} is newer than the versions that this release is tested with, ${SUPPORTED_RANGE}`,
    );
  const located = options.build ? undefined : locateAddon(libtorch);
  const lines = prebuiltLines();
  if (!located && !options.build && lines.length > 0) {
    progress.note(
      `prebuilt addons exist for torch ${lines.join(', ')}; building one for ${libtorch.version}`,
    );
  }
  const addon = await provideAddon(libtorch, located, options, progress);
  progress.done(`addon, ${addon.origin}, ${addon.native}`);
  if (ncclState(libtorch, addon) === 'headers missing')
    progress.note(
      `this addon has no NCCL, so GPUs exchange tensors through the CPU. With the headers of CUDA and NCCL (the pip packages of torch, or the CUDA toolkit): npx acc setup --build`,
    );
  const { mpicc } = options;
  if (options.mpi || mpicc !== undefined) {
    const library = buildMpi(mpicc === undefined ? {} : { mpicc });
    progress.done(`engine mpi, by ${library.mpicc}, ${library.path}`);
  }
  const taken = findLibtorch();
  if (taken && taken.root !== libtorch.root) {
    progress.note(
      `programs use the libtorch in ${taken.root} (${taken.origin}); to use the new one: export ACC_LIBTORCH=${libtorch.root}`,
    );
  }
}

/**
 * The addon that was found, or one that is built here. For a libtorch with CUDA, one with NCCL is built
 * if the machine has the headers. If that fails, the one that was found stays.
 */
async function provideAddon(
  libtorch: LibtorchInstall,
  located: AddonFiles | undefined,
  { offline }: SetupOptions,
  progress: SetupProgress,
): Promise<AddonFiles> {
  const isComplete = located && ncclState(libtorch, located) !== 'buildable';
  if (isComplete) return located;
  const onProgress = ({ message, log }: BuildProgress) =>
    progress.step(message, `, one to three minutes; log: ${log}`);
  try {
    return await buildAddon(libtorch, { offline, onProgress });
  } catch (error) {
    if (!located || !isAccError(error)) throw error;
    progress.note(
      `this addon has no NCCL, so GPUs exchange tensors through the CPU. One with NCCL could not be built: ${error.message}`,
    );
    return located;
  }
}

async function provideLibtorch(options: SetupOptions, progress: SetupProgress): Promise<LibtorchInstall> {
  const { libtorch: version, from, sha256, offline } = options;
  const asksForOne = version !== undefined || from !== undefined || sha256 !== undefined;
  if (asksForOne && process.env.ACC_LIBTORCH) {
    throw new AccError('ACC_SETUP_CONFLICT', `ACC_LIBTORCH is set (${process.env.ACC_LIBTORCH}).`, {
      help: 'Unset ACC_LIBTORCH to install another libtorch, or leave --libtorch, --from and --sha256 out.',
    });
  }
  const found = asksForOne ? undefined : findLibtorch();
  // An untested torch of Python would need a compiler, where the tested one has a prebuilt addon.
  const isWanted = found && (isTestedVersion(found.version) || found.origin !== 'python' || offline);
  if (isWanted) return found;
  const onProgress = (event: InstallProgress) => progress.install(event);
  const newest = asksForOne || offline ? undefined : await newestWheel();
  if (newest) {
    try {
      return await installLibtorch({ from: newest.url, sha256: newest.sha256, onProgress });
    } catch (error) {
      if (!isAccError(error, 'ACC_DOWNLOAD_UNREACHABLE')) throw error;
      progress.note(error.message.split('\n→')[0]!);
    }
  }
  return installLibtorch({ version, from, sha256, offline, onProgress });
}
