// The only file where a name becomes an implementation.
import { backend, getBackend, ready } from '@tensorflow/tfjs-core';
import {
  AccError,
  checkKeys,
  ENGINE_CHOICES,
  isAccError,
  nearestName,
  type Collective,
  type Determinism,
  type EngineChoice,
  type GradientAccumulation,
  type KernelLayer,
  type Plugin,
  type PrecisionPlugin,
  type Strategy,
} from '@acc/contract';
import {
  coresOfRank,
  DEFAULT_TIMEOUT_MS,
  GroupCollective,
  SingleCollective,
  type JoinOptions,
} from '@acc/collective';
import { amp, float32Precision } from '@acc/amp';
import { ddp } from '@acc/ddp';
import { Deterministic } from '@acc/deterministic';
import { gradientAccumulation } from '@acc/grad-accumulation';
import {
  activeLayer,
  BACKEND_NAME,
  isLive,
  kernelLayerOf,
  optimizerState,
  portableLists,
  registerAccBackend,
  registerOptimizers,
  shareKernelChoices,
} from '@acc/kernels';
import { monitor, resolveAutoLog, type MonitorSink } from '@acc/monitor';
import { schedules } from '@acc/schedule';
import {
  checkTracker,
  consoleTracker,
  csvTracker,
  jsonlTracker,
  loadTracker,
  makeTracker,
  type RecordedTracker,
  type TrackerMaker,
} from '@acc/tracker';
import { deviceCount, setDefaultDevice, setNumThreads, torchVersion } from '@acc/native';
import { backendWatch, warnOfLeaving } from './backend/backend-watch.js';
import './backend/note-choices.js';
import { activateBackend, chosenBackend } from './backend/chosen-backend.js';
import type { LaunchEnvironment } from './environment.js';
import { joinOnce } from './job-group.js';
import type { ResolvedOptions } from './options.js';
import { singleStrategy } from './single-strategy/single-strategy.js';

export { optimizerState as optimizerStateOf };
export { castHook, oneBitHook, powerSgdHook, topKHook } from '@acc/ddp';

/** The strategy that the options name. */
export function strategyOf(options: ResolvedOptions, size: number): Strategy {
  const { strategy } = options;
  if (typeof strategy === 'object') return strategy;
  // Alone, too, what is deterministic goes the way that it goes on several ranks.
  const isShared = size > 1 || options.deterministic !== false;
  const name = strategy === 'auto' ? (isShared ? 'ddp' : 'single') : strategy;
  if (name !== 'ddp') return singleStrategy();
  return ddp(options.deterministic === false ? options.ddp : { ...options.ddp, batchNorm: 'sync' });
}

/**
 * What makes results the same on any number of ranks, where the options ask for it.
 *
 * @param dataRanks The ranks that get rows of their own.
 *
 * @throws AccError `ACC_INVALID_OPTION`, `ACC_DETERMINISTIC_BACKEND`.
 */
export function determinismOf(
  { deterministic, seed }: ResolvedOptions,
  dataRanks: Pick<Collective, 'rank' | 'size'>,
  kernels: KernelLayer,
): Determinism | undefined {
  if (deterministic === false) return undefined;
  return new Deterministic(deterministic === true ? {} : deterministic, {
    kernels,
    rank: dataRanks.rank,
    size: dataRanks.size,
    seed,
  });
}

/**
 * Mixed precision, where the options ask for it.
 *
 * @throws AccError `ACC_PRECISION_UNSUPPORTED`.
 */
export function precisionOf(
  { mixedPrecision, amp: options }: ResolvedOptions,
  kernels: KernelLayer,
): PrecisionPlugin | undefined {
  switch (mixedPrecision) {
    case 'no':
      return undefined;
    case 'bf16':
      return amp('bfloat16', options);
    case 'fp16':
      return amp('float16', options);
    case 'fp8':
      throw float8Refusal(kernels);
  }
}

/** What holds on this device, tried there. Either way nothing here trains in 8 bits yet. */
function float8Refusal({ backendName, device, precision }: KernelLayer): AccError {
  const problem = precision
    ? precision.float8Problem()
    : `the tfjs backend '${backendName}' computes in float32 only`;
  const found =
    problem === undefined
      ? `The device ${device} multiplies matrices of 8-bit floats (aten::_scaled_mm was tried)`
      : `The device ${device} could not multiply matrices of 8-bit floats: ${problem}`;
  return new AccError(
    'ACC_PRECISION_UNSUPPORTED',
    `mixedPrecision 'fp8' is not implemented on any device yet. ${found}.`,
    { help: "Use mixedPrecision 'bf16'.", details: { device, problem } },
  );
}

/** What holds gradients back between the steps of the optimizer. */
export function accumulationOf(options: ResolvedOptions, kernels: KernelLayer): GradientAccumulation {
  // Native lists would add up what of each micro-batch has been summed; each shard's sum goes over all of them.
  const lists = options.deterministic === false ? kernels.lists : portableLists();
  return gradientAccumulation({ steps: options.gradientAccumulationSteps, lists, isLive });
}

/** The plugins that take part in every Accelerator, before those of the options. */
export function builtInPlugins(
  { amp: options, mixedPrecision }: ResolvedOptions,
  kernels: KernelLayer,
  isMain: boolean,
): Plugin[] {
  const without = mixedPrecision === 'no' ? undefined : 'in float32 in place of 16 bits';
  const watch = backendWatch({ engine: BACKEND_NAME, kernels, isMain, without });
  return [watch, schedules(), float32Precision(options)];
}

/** Figures by themselves, where the options ask for them. */
export function monitorOf({ autoLog }: ResolvedOptions, sink: MonitorSink, size: number): Plugin[] {
  if (autoLog === false) return [];
  return [monitor(resolveAutoLog(autoLog === true ? {} : autoLog), sink, size)];
}

const BUILT_IN_TRACKERS: Readonly<Record<string, TrackerMaker['make']>> = {
  console: consoleTracker,
  jsonl: jsonlTracker,
  csv: csvTracker,
};
const TRACKER_PACKAGES: Readonly<Record<string, string>> = {
  tensorboard: '@acc/tracker-tensorboard',
  mlflow: '@acc/tracker-mlflow',
  wandb: '@acc/tracker-wandb',
};

/**
 * The trackers that the options name or hold.
 *
 * @param perTracker Options by those names.
 * @throws AccError `ACC_NO_TRACKERS`, `ACC_TRACKER_MISSING`, `ACC_TRACKER_INVALID`, `ACC_UNKNOWN_OPTION`.
 */
export function trackersOf(
  { logWith }: Pick<ResolvedOptions, 'logWith'>,
  perTracker: Readonly<Record<string, object>>,
): Promise<RecordedTracker[]> {
  if (!logWith) {
    throw new AccError('ACC_NO_TRACKERS', 'initTrackers: the Accelerator has no trackers.', {
      help: "Name them: Accelerator.create({ logWith: ['console', 'jsonl'] }), or give an empty list for none.",
    });
  }
  const names = logWith.filter((entry) => typeof entry === 'string');
  checkKeys('initTrackers', perTracker, names);
  return Promise.all(
    logWith.map(async (entry) =>
      typeof entry === 'string'
        ? makeTracker(await trackerMaker(entry), perTracker[entry])
        : { tracker: checkTracker('logWith', entry) },
    ),
  );
}

/** Other names are those of packages, whole or what follows `acc-tracker-`. */
async function trackerMaker(name: string): Promise<TrackerMaker> {
  const make = BUILT_IN_TRACKERS[name];
  if (make) return { name, make };
  const isWhole = name.startsWith('@') || name.startsWith('acc-tracker-');
  try {
    return await loadTracker(TRACKER_PACKAGES[name] ?? (isWhole ? name : `acc-tracker-${name}`));
  } catch (error) {
    const known = [...Object.keys(BUILT_IN_TRACKERS), ...Object.keys(TRACKER_PACKAGES)];
    const nearest = known.includes(name) ? undefined : nearestName(name, known);
    if (!isAccError(error, 'ACC_TRACKER_MISSING') || nearest === undefined) throw error;
    const [message] = error.message.split('\n');
    throw new AccError(error.code, `logWith: '${name}' is no tracker that comes with it. ${message}`, {
      help: `Did you mean '${nearest}'? Else: ${error.help}`,
      details: { ...error.details, nearest },
      cause: error.cause,
    });
  }
}

/** Where the kernels of this process compute. */
export interface ProcessKernels {
  /** Of the backend that is active, whenever it is asked. */
  readonly kernels: KernelLayer;
  /** Where native tensors are made: `cpu`, `cuda:0`. Tensors of other backends become native ones to travel between ranks. */
  readonly nativeDevice: string;
}

/**
 * Activates the engine that the options name. Where they leave it open, a backend that the program has chosen by
 * `tf.setBackend` stays.
 *
 * @throws AccError `ACC_LIBTORCH_MISSING`, `ACC_ADDON_MISSING` where `acc` or a GPU was asked for, or several ranks need it to
 * talk; `ACC_DEVICE_UNAVAILABLE`.
 */
export async function kernelsOf(
  options: ResolvedOptions,
  { rank, size, localRank }: LaunchEnvironment,
): Promise<ProcessKernels> {
  registerOptimizers();
  const { engine, device: wanted } = options;
  const isNeeded = engine === 'acc' || wanted === 'cuda' || size > 1;
  const hasNative = engine !== 'tfjs' && isNativeReady(isNeeded);
  let nativeDevice = 'cpu';
  if (hasNative) {
    nativeDevice = deviceOf(options, localRank);
    registerAccBackend({ device: nativeDevice });
    setDefaultDevice(nativeDevice);
    const chosen = engine === 'auto' ? chosenBackend() : undefined;
    if (chosen === undefined) await activateBackend(BACKEND_NAME);
    else if (chosen !== BACKEND_NAME && rank === 0) warnOfStaying(chosen);
  }
  await ready();
  const kernels = activeLayer({ hasNative });
  if (wanted !== 'auto' && !kernels.device.startsWith(wanted)) throw notOnDevice(wanted, kernels);
  return { kernels, nativeDevice };
}

function warnOfStaying(chosen: string): void {
  warnOfLeaving(
    `training stays on the tfjs backend '${chosen}', which the program has set, with the same numbers, only slower. ` +
      `For '${BACKEND_NAME}' leave tf.setBackend out, or write engine: 'acc'.`,
  );
}

/** The kernel layer of the backend that is active, where no Accelerator runs. */
export function activeKernels(): KernelLayer {
  return kernelLayerOf(getBackend(), backend());
}

function notOnDevice(wanted: string, { backendName, device }: KernelLayer): AccError {
  return new AccError(
    'ACC_DEVICE_UNAVAILABLE',
    `device is '${wanted}', and the active backend '${backendName}' has tensors on ${device}.`,
    { help: "Leave tf.setBackend and engine: 'tfjs' out, or device." },
  );
}

/** The ranks of a host take its GPUs in turn. */
function deviceOf({ device }: ResolvedOptions, localRank: number): string {
  const gpus = deviceCount('cuda');
  if (device === 'cuda' && gpus === 0) {
    throw new AccError('ACC_DEVICE_UNAVAILABLE', 'libtorch sees no CUDA device.', {
      help: "Choose device: 'auto' or 'cpu', or install the driver and a libtorch with CUDA; `npx acc env` shows both.",
    });
  }
  return device !== 'cpu' && gpus > 0 ? `cuda:${localRank % gpus}` : 'cpu';
}

const NOT_INSTALLED = ['ACC_LIBTORCH_MISSING', 'ACC_ADDON_MISSING', 'ACC_PLATFORM_UNSUPPORTED'];
let toldOfFallback = false;

/**
 * Loads libtorch here, since tfjs swallows the errors of a backend that it initialises. Where it is not installed and
 * not needed, one process goes on with the backend that is active, and says so once.
 */
function isNativeReady(isNeeded: boolean): boolean {
  try {
    torchVersion();
    return true;
  } catch (error) {
    if (isNeeded || !isAccError(error) || !NOT_INSTALLED.includes(error.code)) throw error;
    if (!toldOfFallback) {
      toldOfFallback = true;
      console.warn(`acc: training runs in one process on the tfjs backend that is active. ${error.message}`);
    }
    return false;
  }
}

let hasLeft = false;

/** The collectives among the job's ranks. */
export async function collectiveOf(
  environment: LaunchEnvironment,
  options: ResolvedOptions,
  { kernels, nativeDevice }: ProcessKernels,
): Promise<Collective> {
  const { rank, size, localSize, masterAddress, masterPort, jobToken, networkInterface, collectiveEngine } =
    environment;
  if (size === 1) return new SingleCollective();
  if (hasLeft) {
    throw new AccError('ACC_TRAINING_ENDED', 'This process has left its job by endTraining.', {
      help: 'Call endTraining() once, at the end; between two Accelerators call freeMemory().',
    });
  }
  const wishes = { engine: options.collective.engine, timeoutMs: options.collective.timeoutMs };
  const joining: JoinOptions = {
    rank,
    size,
    masterAddress,
    masterPort,
    jobToken,
    isOneHost: localSize === size,
    device: nativeDevice,
    timeoutMs: wishes.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    engine: wishes.engine ?? engineOf(collectiveEngine),
    onWaiting: (who) => console.warn(`acc: waiting, ${who}.`),
    ...(networkInterface && { networkInterface }),
  };
  const joined = await joinOnce(joining, wishes);
  if (!environment.hasThreads) setNumThreads(coresOfRank(joined.members, rank));
  shareKernelChoices(joined.store);
  const onClose = () => {
    hasLeft = true;
    shareKernelChoices(undefined);
    joined.close();
  };
  return new GroupCollective({ joined, bridge: kernels, onClose });
}

function engineOf(name: string = 'auto'): EngineChoice {
  const choice = ENGINE_CHOICES.find((one) => one === name);
  if (choice) return choice;
  throw new AccError('ACC_ENVIRONMENT', `ACC_COLLECTIVE_ENGINE is '${name}'.`, {
    help: `Set it to one of ${ENGINE_CHOICES.join(', ')}.`,
  });
}
