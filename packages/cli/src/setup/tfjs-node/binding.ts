import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AccError } from '@acc/contract';
import { readEnvironment } from '@acc/native';
import {
  asDiskError,
  createStaging,
  lastLines,
  makeCacheFolder,
  requireToolchain,
  runLogged,
  type Toolchain,
} from '@acc/native/install-tools';
import type { SetupProgress } from '../progress.js';
import type { TfjsNodePackage } from './package.js';
import { LIBRARIES, type TensorflowInstall } from './tensorflow.js';

const BINARY = 'tfjs_binding.node';
/** The version of Node-API that tfjs-node 4 asks for on Node.js 20 and newer. */
const NODE_API = 8;

export interface BindingOptions {
  /** Does not use the network. */
  readonly offline: boolean;
  readonly progress: SetupProgress;
}

/** The cached binding for a TensorFlow and a tfjs-node. Undefined if it was not built yet. */
export function cachedBinding(found: TfjsNodePackage, tensorflow: TensorflowInstall): string | undefined {
  const path = join(bindingFolder(found, tensorflow), BINARY);
  return existsSync(path) ? path : undefined;
}

/**
 * Compiles tfjs-node's binding, with its own sources, against a TensorFlow, and puts it into the
 * cache. It finds the libraries by a path that is relative to its place in the package.
 *
 * @returns The path of the binding. If the cache has it, nothing is compiled.
 * @throws AccError `ACC_TOOLCHAIN_MISSING`, `ACC_TFJS_NODE_BUILD_FAILED` with the last lines of the
 * compiler and the path of the log, `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`.
 */
export async function provideBinding(
  found: TfjsNodePackage,
  tensorflow: TensorflowInstall,
  { offline, progress }: BindingOptions,
): Promise<string> {
  const cached = cachedBinding(found, tensorflow);
  if (cached) return cached;
  const toolchain = requireToolchain({ offline });
  const destination = bindingFolder(found, tensorflow);
  using staging = createStaging(dirname(destination));
  const logs = makeCacheFolder(join(readEnvironment().cacheDir, 'logs'));
  const log = join(logs, `tfjs-binding-${basename(destination)}.log`);
  progress.step(`compiling the binding for TensorFlow ${tensorflow.version}; log: ${log}`);
  const source = join(staging.path, 'source');
  const result = join(staging.path, 'finished');
  try {
    copySources(found.path, source);
    linkTensorflow(tensorflow, join(source, 'deps'));
  } catch (error) {
    throw asDiskError(error, source);
  }
  const status = await runLogged(gypArguments(toolchain, source, result), source, log);
  if (status !== 0 || !existsSync(join(result, BINARY))) throw buildFailed(status, log);
  staging.publish(result, destination);
  return join(destination, BINARY);
}

/** Links libraries and headers as `binding.gyp` of tfjs-node expects them in the folder `deps`. */
export function linkTensorflow({ root, variant }: TensorflowInstall, deps: string): void {
  mkdirSync(join(deps, 'lib'), { recursive: true });
  symlinkSync(join(root, 'include'), join(deps, 'include'));
  for (const name of LIBRARIES) symlinkSync(join(root, 'lib', name), join(deps, 'lib', name));
  symlinkSync('libtensorflow_cc.so.2', join(deps, 'lib', 'libtensorflow.so'));
  symlinkSync('libtensorflow_framework.so.2', join(deps, 'lib', 'libtensorflow_framework.so'));
  // TensorFlow's libraries look for those of CUDA in `../nvidia`.
  if (variant === 'cuda') symlinkSync(join(root, 'nvidia'), join(deps, 'nvidia'));
}

function gypArguments({ nodeGyp, nodeDir }: Toolchain, source: string, result: string): string[] {
  return [
    nodeGyp,
    'rebuild',
    `--directory=${source}`,
    ...(nodeDir ? [`--nodedir=${nodeDir}`] : []),
    '--module_name=tfjs_binding',
    `--module_path=${result}`,
    `--napi_build_version=${NODE_API}`,
  ];
}

function copySources(path: string, source: string): void {
  mkdirSync(source, { recursive: true });
  for (const name of ['binding.gyp', 'binding', 'package.json']) {
    cpSync(join(path, name), join(source, name), { recursive: true });
  }
}

/** The name contains everything that the binding depends on. */
function bindingFolder({ path }: TfjsNodePackage, { version, variant }: TensorflowInstall): string {
  const hash = createHash('sha256');
  const sources = readdirSync(join(path, 'binding')).sort();
  for (const file of ['binding.gyp', ...sources.map((name) => join('binding', name))]) {
    hash.update(`${file}\0`).update(readFileSync(join(path, file)));
  }
  const name = `${version}-${variant}-${process.platform}-${process.arch}-${hash.digest('hex').slice(0, 16)}`;
  return join(readEnvironment().cacheDir, 'tfjs-binding', name);
}

function buildFailed(status: number | string, log: string): AccError {
  const output = existsSync(log) ? readFileSync(log, 'utf8') : '';
  return new AccError(
    'ACC_TFJS_NODE_BUILD_FAILED',
    `Compiling tfjs-node's binding failed: node-gyp ended with ${status}.\n${lastLines(output)}`,
    {
      help: `See ${log}. The build needs a C++17 compiler and the headers of Node.js, which node-gyp fetches if this Node.js has none.`,
      details: { log, status },
    },
  );
}
