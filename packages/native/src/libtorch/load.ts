import { AccError } from '@acc/contract';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { locateAddon, prebuiltLines, type AddonFiles } from './addon-files.js';
import type { LibtorchInstall } from './inspect.js';
import { addonLoadError, libtorchLoadError } from './load-errors.js';
import { withFewSpins } from './openmp-spins.js';
import { libraryFile } from './platform.js';
import { requireLibtorch } from './search.js';
import { releaseLine } from './version.js';

/**
 * The libraries in load order: each needs the earlier ones. Those of CUDA exist only in a CUDA
 * build.
 */
const LIBRARIES = ['c10', 'torch_cpu', 'c10_cuda', 'torch_cuda'];

/** Set once per process: libtorch cannot be loaded twice or unloaded. */
let loaded: unknown;

/**
 * Finds libtorch and the addon, and loads them. The first call takes about 100 ms; later calls
 * return at once.
 *
 * @returns The exports of the C++ addon.
 * @throws AccError `ACC_LIBTORCH_MISSING`, `ACC_LIBTORCH_INVALID`, `ACC_LIBTORCH_UNSUPPORTED`,
 * `ACC_ADDON_MISSING`, `ACC_ADDON_MISMATCH`, `ACC_LIBTORCH_LOAD_FAILED`, `ACC_ADDON_LOAD_FAILED`,
 * `ACC_PLATFORM_UNSUPPORTED`.
 */
export function loadAddon(): unknown {
  loaded ??= loadWith(requireLibtorch());
  return loaded;
}

function loadWith(libtorch: LibtorchInstall): unknown {
  const files = locateAddon(libtorch);
  if (!files) {
    throw new AccError(
      'ACC_ADDON_MISSING',
      `There is no addon for torch ${libtorch.version} (${libtorch.variant}) in ${libtorch.root}. ` +
        `Prebuilt addons exist for: ${prebuiltLines().join(', ') || 'none'}.`,
      { help: 'npx acc setup', details: { libtorch, prebuilt: prebuiltLines() } },
    );
  }
  return loadFiles(libtorch, files);
}

/**
 * Loads libtorch's libraries, then the addon. Exported for tests; other modules call {@link
 * loadAddon}.
 */
export function loadFiles(libtorch: LibtorchInstall, files: AddonFiles): unknown {
  const load = createRequire(import.meta.url);
  const loader = loadFile<{ open(paths: readonly string[]): void }>(load, files.loader, libtorch, files);
  const libraries = LIBRARIES.map((stem) => join(libtorch.libDir, libraryFile(stem))).filter((path) =>
    existsSync(path),
  );
  try {
    withFewSpins(() => loader.open(libraries));
  } catch (error) {
    throw libtorchLoadError(error, libtorch);
  }
  const addon = loadFile<{ torchVersion: string }>(load, files.native, libtorch, files);
  if (releaseLine(addon.torchVersion) === releaseLine(libtorch.version)) return addon;
  throw new AccError(
    'ACC_ADDON_MISMATCH',
    `The addon ${files.native} is built for torch ${addon.torchVersion}, but torch ${libtorch.version} was found in ${libtorch.root}.`,
    { help: 'npx acc setup --build', details: { libtorch, builtFor: addon.torchVersion } },
  );
}

function loadFile<T>(
  load: NodeJS.Require,
  path: string,
  libtorch: LibtorchInstall,
  { origin }: AddonFiles,
): T {
  try {
    return load(path) as T;
  } catch (error) {
    throw addonLoadError(error, libtorch, path, origin);
  }
}
