import { AccError } from '@acc/contract';
import {
  buildAddon,
  buildMpi,
  findLibtorch,
  installLibtorch,
  locateAddon,
  prebuiltLines,
  type BuildProgress,
  type LibtorchInstall,
} from '@acc/native';
import type { SetupProgress } from './progress.js';

export interface SetupOptions {
  /** Version to install. Default: the one found, else the one that we are tested with. */
  readonly libtorch?: string;
  /** Archive or wheel to install from, a path or URL. */
  readonly from?: string;
  /** Checksum of that archive, in hexadecimal. */
  readonly sha256?: string;
  /** Nothing from the network. */
  readonly offline?: boolean;
  /** Builds the addon, also where a prebuilt one fits. */
  readonly build?: boolean;
  /** Builds the engine `mpi`, too. */
  readonly mpi?: boolean;
  /** With this compiler. Default `mpicc`. */
  readonly mpicc?: string;
}

/**
 * Makes this machine ready: a libtorch, and an addon for it, prebuilt or built here. What is there already stays.
 *
 * @throws AccError of `@acc/native`'s `installLibtorch` and `buildAddon`; `ACC_SETUP_CONFLICT` when ACC_LIBTORCH
 * says one thing and the options another.
 */
export async function setup(options: SetupOptions, progress: SetupProgress): Promise<void> {
  const libtorch = await provideLibtorch(options, progress);
  progress.done(`libtorch ${libtorch.version} (${libtorch.variant}), ${libtorch.origin}, ${libtorch.root}`);
  const located = options.build ? undefined : locateAddon(libtorch);
  const lines = prebuiltLines();
  if (!located && !options.build && lines.length > 0) {
    progress.note(
      `there are prebuilt addons for torch ${lines.join(', ')}; building one for ${libtorch.version}`,
    );
  }
  const onProgress = ({ message, log }: BuildProgress) => progress.step(`${message}; log: ${log}`);
  const addon = located ?? (await buildAddon(libtorch, { onProgress }));
  progress.done(`addon, ${addon.origin}, ${addon.native}`);
  const { mpicc } = options;
  if (options.mpi || mpicc !== undefined) {
    const library = buildMpi(mpicc === undefined ? {} : { mpicc });
    progress.done(`engine mpi, by ${library.mpicc}, ${library.path}`);
  }
  const taken = findLibtorch();
  if (taken && taken.root !== libtorch.root) {
    progress.note(
      `programs take the libtorch of ${taken.root} (${taken.origin}); for the new one: export ACC_LIBTORCH=${libtorch.root}`,
    );
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
  if (found) return found;
  return installLibtorch({ version, from, sha256, offline, onProgress: (event) => progress.install(event) });
}
