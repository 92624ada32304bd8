import { AccError } from '@acc/contract';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { readEnvironment } from './environment.js';
import { hasCuda, type LibtorchInstall } from './inspect.js';
import { packageRoot, readManifest } from './package-root.js';
import { requirePlatform } from './platform.js';
import { RELEASE_LINES, releaseLine } from './version.js';

/** The addon's two files. Absolute paths. */
export interface AddonFiles {
  /** The addon with tensors, operators and process groups. It is linked to libtorch. */
  readonly native: string;
  /** Loads libtorch's libraries for `native`. It is not linked to libtorch. */
  readonly loader: string;
  readonly origin: 'package' | 'cache';
}

/**
 * Finds the addon for a libtorch: one that was built on this machine, else the prebuilt one of the
 * platform package (such as `@acc/native-linux-x64`) that npm installed. Reads and hashes the
 * addon's sources, which takes a few milliseconds.
 *
 * @throws AccError `ACC_ADDON_MISMATCH` if the version of the platform package differs from this
 * package.
 */
export function locateAddon(libtorch: LibtorchInstall): AddonFiles | undefined {
  const withNccl = hasCuda(libtorch) ? addonIn(addonCacheFolder(libtorch, 'nccl'), 'cache') : undefined;
  return withNccl ?? addonIn(addonCacheFolder(libtorch), 'cache') ?? addonInPackage(libtorch);
}

/**
 * The cache folder in which {@link buildAddon} puts the addon for a libtorch. Its name contains
 * everything that the addon depends on.
 *
 * @param engine That of an addon with NCCL, which is built where the headers of CUDA are.
 */
export function addonCacheFolder(libtorch: LibtorchInstall, engine?: 'nccl'): string {
  const name = engine ? `${addonKey(libtorch)}-${engine}` : addonKey(libtorch);
  return join(readEnvironment().cacheDir, 'addon', name);
}

/** A source of the addon. */
export interface AddonSource {
  /** Its name in the folder of a build. */
  readonly name: string;
  /** Its absolute path in the package. */
  readonly path: string;
}

/**
 * The addon's sources: everything in `cpp/`, sorted. `cpp/acc.gyp` is first, under the name
 * `binding.gyp`, which node-gyp expects. The package has no file of that name, because package
 * managers run node-gyp for a package that does.
 */
export function addonSources(root: string): AddonSource[] {
  const gyp = join('cpp', 'acc.gyp');
  const files = readdirSync(join(root, 'cpp'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => file !== gyp);
  const sources = files.sort().map((name) => ({ name, path: join(root, name) }));
  return [{ name: 'binding.gyp', path: join(root, gyp) }, ...sources];
}

/** The two files in a folder. Undefined unless both exist. */
export function addonIn(folder: string, origin: AddonFiles['origin']): AddonFiles | undefined {
  const native = join(folder, 'acc_native.node');
  const loader = join(folder, 'acc_loader.node');
  return existsSync(native) && existsSync(loader) ? { native, loader, origin } : undefined;
}

/**
 * The name of the cache folder. It does not contain the version of Node.js, because the binary
 * interface of Node-API is stable.
 */
function addonKey({ version, variant }: LibtorchInstall): string {
  const hash = createHash('sha256');
  for (const { name, path } of addonSources(packageRoot()))
    hash.update(`${name}\0`).update(readFileSync(path));
  return `torch-${version}-${variant}-${requirePlatform()}-${hash.digest('hex').slice(0, 16)}`;
}

/**
 * For a libtorch with CUDA, an addon with NCCL for the same version of CUDA comes first: it contains
 * structures of NCCL, whose sizes differ between versions. The others lack only NCCL.
 */
function addonInPackage(libtorch: LibtorchInstall): AddonFiles | undefined {
  const folder = platformPackage();
  if (folder === undefined) return undefined;
  const ofLine = `torch-${releaseLine(libtorch.version)}`;
  const names = hasCuda(libtorch) ? [`${ofLine}-${libtorch.variant}`, ofLine] : [ofLine];
  return names.map((name) => addonIn(join(folder, name), 'package')).find((files) => files !== undefined);
}

/**
 * The release lines of torch for which the platform package has an addon. Empty if it is not
 * installed.
 */
export function prebuiltLines(): string[] {
  const folder = platformPackage();
  if (folder === undefined) return [];
  return RELEASE_LINES.filter((line) => addonIn(join(folder, `torch-${line}`), 'package'));
}

/** The folder of the platform package. Undefined in a checkout. */
function platformPackage(): string | undefined {
  const root = packageRoot();
  const name = `@acc/native-${requirePlatform()}`;
  let manifest: string;
  try {
    manifest = createRequire(join(root, 'package.json')).resolve(`${name}/package.json`);
  } catch (error) {
    // It is an optional dependency, which a package manager may leave out.
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
  const expected = readManifest(join(root, 'package.json')).version;
  const found = readManifest(manifest).version;
  if (found !== expected) {
    throw new AccError('ACC_ADDON_MISMATCH', `${name} is ${found}, and @acc/native is ${expected}.`, {
      help: `npm install ${name}@${expected}`,
      details: { name, found, expected },
    });
  }
  return dirname(manifest);
}
