import { AccError, checkKeys } from '@acc/contract';
import { spawn } from 'node:child_process';
import { closeSync, copyFileSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import { basename, dirname, join } from 'node:path';
import { addonCacheFolder, addonIn, addonSources, type AddonFiles } from './addon-files.js';
import { asDiskError, makeCacheFolder } from './disk.js';
import { readEnvironment } from './environment.js';
import { ncclIncludes } from './nccl.js';
import type { LibtorchInstall } from './inspect.js';
import { packageRoot } from './package-root.js';
import { createStaging, type Staging } from './staging.js';
import { requireToolchain, type Toolchain } from './toolchain.js';

export interface BuildOptions {
  /** Does not use the network. node-gyp fetches the headers of a Node.js that has none. Default false. */
  readonly offline?: boolean | undefined;
  readonly onProgress?: (progress: BuildProgress) => void;
}

/** A step of the build, as a message. The output of the compiler goes to the log. */
export interface BuildProgress {
  readonly message: string;
  readonly log: string;
}

/** The memory of one compiler process with torch's headers. */
const JOB_BYTES = 1.5 * 2 ** 30;

/**
 * The number of compiler processes: one for each core, as far as the free memory suffices.
 *
 * @param freeBytes On macOS, too little: memory that holds files counts as used. So two run there.
 */
export function compilerJobs(cores: number, freeBytes: number, platform = process.platform): number {
  const least = platform === 'darwin' ? 2 : 1;
  return Math.min(cores, Math.max(least, Math.floor(freeBytes / JOB_BYTES)));
}

/** The free memory of the host, or what is left under the limit of a container. */
function availableBytes(): number {
  const { availableMemory } = process as { availableMemory?: () => number };
  return availableMemory?.() ?? os.freemem();
}

const LOG_TAIL_LINES = 30;

/**
 * Builds the addon for a libtorch with node-gyp and puts it in the cache. The sources are copied to
 * a folder of this process, so concurrent builds do not conflict.
 *
 * @returns The built files. If the cache already has them, nothing is built.
 * @throws AccError `ACC_TOOLCHAIN_MISSING`, `ACC_ADDON_BUILD_FAILED` with the last lines of the
 * compiler and the path of the log, `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`,
 * `ACC_PLATFORM_UNSUPPORTED`.
 */
export async function buildAddon(libtorch: LibtorchInstall, options: BuildOptions = {}): Promise<AddonFiles> {
  checkKeys('buildAddon', options, ['offline', 'onProgress']);
  const includes = ncclIncludes(libtorch);
  const destination = addonCacheFolder(libtorch, includes.length > 0 ? 'nccl' : undefined);
  const built = addonIn(destination, 'cache');
  if (built) return built;
  const toolchain = requireToolchain({ offline: options.offline });
  using staging = createStaging(dirname(destination));
  const log = join(makeCacheFolder(join(readEnvironment().cacheDir, 'logs')), `${basename(destination)}.log`);
  options.onProgress?.({ message: `compiling for torch ${libtorch.version} (${libtorch.variant})`, log });
  copySources(staging.path);
  await runNodeGyp(toolchain, staging.path, libtorch, log);
  return publishAddon(staging, destination, log);
}

function copySources(folder: string): void {
  try {
    for (const { name, path } of addonSources(packageRoot())) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      copyFileSync(path, join(folder, name));
    }
  } catch (error) {
    throw asDiskError(error, folder);
  }
}

/**
 * Runs node-gyp. It passes options that it does not know to gyp as variables, which `acc.gyp`
 * declares.
 */
async function runNodeGyp(
  toolchain: Toolchain,
  folder: string,
  libtorch: LibtorchInstall,
  log: string,
): Promise<void> {
  const nodeAddonApi = createRequire(join(packageRoot(), 'package.json')).resolve('node-addon-api');
  const args = [
    toolchain.nodeGyp,
    'rebuild',
    `--directory=${folder}`,
    `--jobs=${compilerJobs(os.availableParallelism(), availableBytes())}`,
    ...(toolchain.nodeDir ? [`--nodedir=${toolchain.nodeDir}`] : []),
    `--acc_torch_include=${libtorch.includeDir}`,
    `--acc_torch_lib=${libtorch.libDir}`,
    `--acc_node_addon_api=${dirname(nodeAddonApi)}`,
    `--acc_nccl_includes=${ncclIncludes(libtorch).join(' ')}`,
  ];
  const status = await runLogged(args, folder, log);
  if (status === 0) return;
  const output = readFileSync(log, 'utf8');
  if (/No space left on device/i.test(output)) throw asDiskError({ code: 'ENOSPC' }, folder);
  throw buildFailed(`node-gyp ended with ${status}`, log, output);
}

/**
 * Runs Node.js with `args` in `folder`, and writes its output to the file `log`.
 *
 * @returns Its exit code, or the name of the signal that ended it.
 */
export function runLogged(args: readonly string[], folder: string, log: string): Promise<number | string> {
  const file = openSync(log, 'w');
  return new Promise<number | string>((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', file, file] });
    child.on('error', reject);
    child.on('close', (status, signal) => resolve(status ?? signal ?? 'no status'));
  }).finally(() => closeSync(file));
}

function publishAddon(staging: Staging, destination: string, log: string): AddonFiles {
  const release = join(staging.path, 'build', 'Release');
  const built = addonIn(release, 'cache');
  if (!built) throw buildFailed(`${release} does not contain the addon`, log, readFileSync(log, 'utf8'));
  const finished = join(staging.path, 'finished');
  try {
    mkdirSync(finished);
    for (const file of [built.native, built.loader]) copyFileSync(file, join(finished, basename(file)));
  } catch (error) {
    throw asDiskError(error, finished);
  }
  staging.publish(finished, destination);
  const files = addonIn(destination, 'cache');
  if (files) return files;
  throw new AccError('ACC_ADDON_MISSING', `${destination} exists but does not contain the addon.`, {
    help: `Remove ${destination} and run: npx acc setup`,
  });
}

/** The last lines of a compiler's output. */
export const lastLines = (output: string): string =>
  output.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');

function buildFailed(what: string, log: string, output: string): AccError {
  return new AccError('ACC_ADDON_BUILD_FAILED', `Building the addon failed: ${what}.\n${lastLines(output)}`, {
    help: `See ${log}. The build needs g++ 11, clang 14 or newer (C++20).`,
    details: { log },
  });
}
