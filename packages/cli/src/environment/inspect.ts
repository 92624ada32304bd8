import { availableParallelism, release, totalmem } from 'node:os';
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
import { oldNode } from '@acc/platform/node-version';
import {
  findTfjsNode,
  inspectTfjsNode,
  tfjsNodeName,
  type TfjsNodeState,
} from '../setup/tfjs-node/package.js';
import { cliVersion } from '../version.js';
import { findPackages, type FoundPackage, type Missing } from './find-packages.js';
import { tfjsProblems } from './tfjs-copies.js';
import { visibleVariables } from './variables.js';

/** The report of `acc env`. */
export interface EnvironmentReport {
  readonly acc: string;
  readonly platform: string;
  readonly node: string;
  /** The number of cores that this process may use. */
  readonly cores: number;
  readonly memoryBytes: number;
  /**
   * The search for libtorch. `chosen` is the one that ranks use; `candidates` are all places that
   * were searched, in order.
   */
  readonly libtorch: LibtorchSearch;
  readonly addon: AddonState;
  /** The collective engines that `auto` chooses. Absent if the addon cannot be loaded. */
  readonly collective?: CollectiveState;
  /** The tfjs packages that a program in the working directory uses. */
  readonly tfjs: readonly FoundPackage[];
  /** Whether tfjs-node and tfjs-node-gpu of the working directory can be loaded, by their files. */
  readonly tfjsNode: readonly TfjsNodeState[];
  /** The engine that `engine: 'auto'` takes, and why. */
  readonly engine: EngineState;
  /** The environment variables of the launcher and of this project. Secrets are shown as `(set)`. */
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
  /** The engine between ranks of one host; `severalHosts` is the one between hosts. */
  readonly oneHost: 'shm' | 'gloo';
  readonly severalHosts: 'gloo';
  readonly reason: string;
  /** The engine for tensors on GPUs, if each rank has its own GPU. */
  readonly gpus: 'nccl' | 'gloo';
  /** The reason why NCCL cannot be used. */
  readonly ncclObstacle?: string;
}

export interface EngineState {
  /** The backend of a program that chooses none. `tfjs` is the backend that tfjs activates. */
  readonly auto: 'acc' | 'tfjs';
  readonly reason: string;
  /** The backend of a program that imports tfjs-node. Absent if there is none that can be loaded. */
  readonly withTfjsNode?: string;
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
].map((name) => `@tensorflow/${name}`);

const SETUP = 'npx acc setup';

/**
 * Inspects this machine and the packages that a program in `cwd` uses. Loads libtorch if there is
 * one.
 */
export function inspectEnvironment(cwd: string, env: NodeJS.ProcessEnv): EnvironmentReport {
  const libtorch = describeSearch();
  const addon = inspectAddon(libtorch.chosen);
  const tfjs = findPackages(cwd, TFJS_PACKAGES);
  const tfjsNode = [false, true].flatMap((gpu) => {
    const found = findTfjsNode(cwd, tfjsNodeName(gpu));
    return found ? [inspectTfjsNode(found)] : [];
  });
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
    tfjsNode,
    engine: inspectEngine(libtorch.chosen, addon, tfjsNode),
    variables: visibleVariables(env),
    missing: [
      ...nodeProblems(),
      ...listMissing(libtorch, addon),
      ...tfjsProblems(cwd, tfjs),
      ...tfjsNode.flatMap(missingTensorflow),
    ],
  };
}

function nodeProblems(): Missing[] {
  const problem = oldNode(process.versions);
  return problem ? [{ what: `${problem.code}: ${problem.message}`, mend: problem.help }] : [];
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

/**
 * The engine that ranks will use, as far as one process can tell. Only the ranks together can find
 * out whether they reach each other's memory.
 */
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
  if (obstacle) return state('gloo', `shared memory is not available: ${obstacle}`);
  return state('shm', 'memfd, futex and pidfd work on this host');
}

function inspectEngine(
  libtorch: LibtorchInstall | undefined,
  addon: AddonState,
  tfjsNode: readonly TfjsNodeState[],
): EngineState {
  const usable = tfjsNode.find(({ problem }) => problem === undefined);
  const withTfjsNode = usable && {
    withTfjsNode: `tensorflow (TensorFlow ${usable.tensorflow ?? 'of its own download'}), because a program that imports ${usable.name} keeps its backend`,
  };
  const state: EngineState =
    libtorch && addon.state === 'loads'
      ? { auto: 'acc', reason: `libtorch ${libtorch.version} and its addon can be loaded` }
      : {
          auto: 'tfjs',
          reason: `${libtorch ? 'the native addon' : 'libtorch'} is missing; one process only`,
        };
  return { ...state, ...withTfjsNode };
}

function missingTensorflow({ name, problem }: TfjsNodeState): Missing[] {
  if (problem === undefined) return [];
  const mend = `npx acc setup tfjs-node${name === tfjsNodeName(true) ? ' --gpu' : ''}`;
  return [{ what: `${name}: ${problem}`, mend }];
}

function listMissing(libtorch: LibtorchSearch, addon: AddonState): Missing[] {
  const missing: Missing[] = [];
  const refused = libtorch.candidates.find(
    ({ origin, outcome }) => origin === 'ACC_LIBTORCH' && outcome === 'refused',
  );
  if (refused) {
    missing.push({
      what: `ACC_LIBTORCH cannot be used: ${refused.reason}`,
      mend: `unset ACC_LIBTORCH; ${SETUP}`,
    });
  } else if (!libtorch.chosen) {
    missing.push({ what: 'libtorch', mend: SETUP });
  }
  if (addon.state === 'missing')
    missing.push({ what: 'the native addon', mend: refused ? 'see above' : SETUP });
  if (addon.state === 'broken') missing.push({ what: addon.reason, mend: addon.mend ?? SETUP });
  return missing;
}
