import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { isAccError } from '@acc/contract';
import {
  describeSearch,
  loadAddon,
  locateAddon,
  ncclUnavailableReason,
  shmUnavailableReason,
  type LibtorchInstall,
  type LibtorchSearch,
} from '@acc/native';
import { cliVersion } from '../version.js';
import { visibleVariables } from './variables.js';

/** What `acc env` found. */
export interface EnvironmentReport {
  readonly acc: string;
  readonly platform: string;
  readonly node: string;
  /** Cores that this process may use. */
  readonly cores: number;
  readonly memoryBytes: number;
  /** `chosen` is what ranks take; `candidates` are all places looked at, in order. */
  readonly libtorch: LibtorchSearch;
  readonly addon: AddonState;
  /** What moves bytes between ranks; absent where the addon does not load. */
  readonly collective?: CollectiveState;
  /** tfjs packages that a program in the working directory gets. */
  readonly tfjs: readonly FoundPackage[];
  /** The launcher's and our variables; secrets only as `(set)`. */
  readonly variables: Readonly<Record<string, string>>;
  readonly missing: readonly Missing[];
}

export type AddonState =
  | { readonly state: 'loads'; readonly path: string; readonly origin: string }
  | {
      readonly state: 'broken';
      readonly code: string;
      readonly reason: string;
      readonly mend: string | undefined;
    }
  | { readonly state: 'missing' };

export interface CollectiveState {
  /** Between ranks of one host, and between hosts. */
  readonly oneHost: 'shm' | 'gloo';
  readonly severalHosts: 'gloo';
  readonly reason: string;
  /** For tensors of GPUs, where each rank has one of its own. */
  readonly gpus: 'nccl' | 'gloo';
  /** What keeps NCCL from them. */
  readonly ncclObstacle?: string;
}

export interface FoundPackage {
  readonly name: string;
  readonly version: string;
  readonly path: string;
}

export interface Missing {
  readonly what: string;
  /** The command or change that mends it. */
  readonly mend: string;
}

const TFJS_PACKAGES = [
  'tfjs',
  'tfjs-core',
  'tfjs-layers',
  'tfjs-data',
  'tfjs-converter',
  'tfjs-backend-cpu',
  'tfjs-backend-wasm',
  'tfjs-node',
  'tfjs-node-gpu',
];

const SETUP = 'npx acc setup';

/** Looks at this machine and at what a program in `cwd` would find. Loads libtorch, where there is one. */
export function inspectEnvironment(cwd: string, env: NodeJS.ProcessEnv): EnvironmentReport {
  const libtorch = describeSearch();
  const addon = inspectAddon(libtorch.chosen);
  const tfjs = findPackages(cwd, TFJS_PACKAGES);
  return {
    acc: cliVersion(),
    platform: `${process.platform}-${process.arch} ${release()}`,
    node: process.version,
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    libtorch,
    addon,
    ...(addon.state === 'loads' && { collective: inspectCollective(env['ACC_COLLECTIVE_ENGINE'] || 'auto') }),
    tfjs,
    variables: visibleVariables(env),
    missing: listMissing(libtorch, addon, tfjs),
  };
}

function inspectAddon(libtorch: LibtorchInstall | undefined): AddonState {
  if (!libtorch) return { state: 'missing' };
  try {
    const files = locateAddon(libtorch);
    if (!files) return { state: 'missing' };
    loadAddon();
    return { state: 'loads', path: files.native, origin: files.origin };
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { state: 'broken', code: error.code, reason: error.message, mend: error.help };
  }
}

/** What ranks take, as far as one process can tell; whether they reach each other's memory shows when they meet. */
function inspectCollective(asked: string): CollectiveState {
  const obstacle = shmUnavailableReason();
  const ncclObstacle = ncclUnavailableReason();
  const state = (oneHost: 'shm' | 'gloo', reason: string): CollectiveState => ({
    oneHost,
    severalHosts: 'gloo',
    reason,
    gpus: ncclObstacle !== undefined || asked === 'gloo' ? 'gloo' : 'nccl',
    ...(ncclObstacle !== undefined && { ncclObstacle }),
  });
  if (asked === 'gloo') return state('gloo', 'ACC_COLLECTIVE_ENGINE asks for it');
  if (obstacle) return state('gloo', `no shared memory: ${obstacle}`);
  return state('shm', 'memfd, futex and pidfd work here');
}

/** As Node looks for them: in each `node_modules` from `cwd` upwards. */
export function findPackages(cwd: string, names: readonly string[]): FoundPackage[] {
  const { resolve } = createRequire(join(cwd, 'program.js'));
  return names.flatMap((short): FoundPackage[] => {
    const name = `@tensorflow/${short}`;
    const path = (resolve.paths(name) ?? [])
      .map((folder) => join(folder, name))
      .find((folder) => existsSync(join(folder, 'package.json')));
    if (!path) return [];
    const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string };
    return [{ name, version, path }];
  });
}

function listMissing(libtorch: LibtorchSearch, addon: AddonState, tfjs: readonly FoundPackage[]): Missing[] {
  const missing: Missing[] = [];
  const refused = libtorch.candidates.find(
    ({ origin, outcome }) => origin === 'ACC_LIBTORCH' && outcome === 'refused',
  );
  if (refused) {
    missing.push({
      what: `ACC_LIBTORCH can't be used: ${refused.reason}`,
      mend: `unset ACC_LIBTORCH; ${SETUP}`,
    });
  } else if (!libtorch.chosen) {
    missing.push({ what: 'libtorch', mend: SETUP });
  }
  if (addon.state === 'missing')
    missing.push({ what: 'the native addon', mend: refused ? 'see above' : SETUP });
  if (addon.state === 'broken') missing.push({ what: addon.reason, mend: addon.mend ?? SETUP });
  if (!tfjs.some(({ name }) => name === '@tensorflow/tfjs-core')) {
    missing.push({ what: '@tensorflow/tfjs-core', mend: 'npm install @tensorflow/tfjs' });
  }
  return missing;
}
