import { backend, getBackend, ready } from '@tensorflow/tfjs-core';
import { AccError, isAccError, type KernelLayer } from '@acc/contract';
import {
  activeLayer,
  BACKEND_NAME,
  kernelLayerOf,
  optimizerState,
  packedShape,
  registerAccBackendFor,
  type Packing,
  registeredDevice,
} from '@acc/kernels';
import { registerOptimizers } from '@acc/optimizers';
import { registerOtherLayers } from '#platform/other-layers';
import { mayHaveNative } from '#platform/requirements';
import { guardSyncReads } from '#platform/sync-reads';
import { deviceCount, setDefaultDevice, setUploadStream, torchVersion } from '@acc/native';
import { warnOfLeaving } from '../backend/backend-watch.js';
import '../backend/mend-tfjs-node.js';
import '../end-by-uncaught.js';
import '../backend/note-choices.js';
import '../random/note-shuffles.js';
import '../state/register-file-addresses.js';
import { activateBackend, chosenBackend, type Choice } from '../backend/chosen-backend.js';
import type { LaunchEnvironment } from '../environment.js';
import type { ResolvedOptions } from '../options.js';

export { optimizerState as optimizerStateOf, packedShape as packedShapeOf, type Packing };

/** The kernel layer of this process. */
export interface ProcessKernels {
  /** The kernel layer of the backend that is active at the time of each call. */
  readonly kernels: KernelLayer;
  /**
   * The device of native tensors: `cpu`, `cuda:0`. Tensors of other backends become native tensors
   * when they are sent to other ranks.
   */
  readonly nativeDevice: string;
}

/**
 * Activates the engine that the options name. With `auto`, a backend that the program chose with
 * `tf.setBackend`, or by an import of tfjs-node, stays active.
 *
 * @throws AccError `ACC_LIBTORCH_MISSING` or `ACC_ADDON_MISSING` if libtorch is needed: for `acc`,
 * for a GPU, or for several ranks. `ACC_DEVICE_UNAVAILABLE`.
 */
export async function kernelsOf(
  options: ResolvedOptions,
  { rank, size, localRank }: LaunchEnvironment,
): Promise<ProcessKernels> {
  registerOptimizers();
  registerOtherLayers();
  const { engine, device: wanted } = options;
  const isNeeded = engine === 'acc' || wanted === 'cuda' || size > 1;
  const hasNative = mayHaveNative && engine !== 'tfjs' && isNativeReady(isNeeded);
  let nativeDevice = 'cpu';
  if (hasNative) {
    nativeDevice = deviceOf(options, localRank);
    registerAccBackendFor(nativeDevice);
    setDefaultDevice(nativeDevice);
    const chosen = engine === 'auto' ? chosenBackend() : undefined;
    if (chosen === undefined) await activateBackend(BACKEND_NAME);
    else if (chosen.backendName !== BACKEND_NAME && rank === 0) warnOfStaying(chosen);
  }
  await ready();
  guardSyncReads();
  const kernels = activeLayer({ hasNative });
  if (wanted !== 'auto' && !kernels.device.startsWith(wanted)) throw notOnDevice(wanted, kernels);
  // A backend of tfjs computes on the CPU beside a GPU.
  chooseUploads(options, kernels.device === 'cpu' ? 'cpu' : nativeDevice);
  return { kernels, nativeDevice };
}

/** The last Accelerator chooses for the process. */
function chooseUploads({ dataLoader: { uploadStream } }: ResolvedOptions, device: string): void {
  if (device !== 'cpu') return setUploadStream(uploadStream);
  if (!uploadStream) return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    'dataLoader.uploadStream is true, and tensors are on the CPU, to which nothing is copied.',
    { help: 'Leave out dataLoader.uploadStream without a GPU.' },
  );
}

function warnOfStaying({ backendName, how }: Choice): void {
  warnOfLeaving(
    `training uses the tfjs backend '${backendName}', because the program ${how}. It gives the same numbers as '${BACKEND_NAME}'. ` +
      `To train on '${BACKEND_NAME}', give engine: 'acc'. To keep '${backendName}' without this message, give engine: 'tfjs'.`,
  );
}

/** The kernel layer of the active backend, for use without an Accelerator. */
export function activeKernels(): KernelLayer {
  return kernelLayerOf(getBackend(), backend());
}

function notOnDevice(wanted: string, { backendName, device }: KernelLayer): AccError {
  return new AccError(
    'ACC_DEVICE_UNAVAILABLE',
    `device is '${wanted}', but the active backend '${backendName}' has its tensors on ${device}.`,
    { help: "Leave device out, or remove tf.setBackend and engine: 'tfjs'." },
  );
}

/** The device of a backend that the program registered, else one of the host's GPUs for each of its ranks. */
function deviceOf({ device }: ResolvedOptions, localRank: number): string {
  const registered = device === 'auto' ? registeredDevice() : undefined;
  if (registered !== undefined) return registered;
  const gpus = deviceCount('cuda');
  if (device === 'cuda' && gpus === 0) {
    throw new AccError('ACC_DEVICE_UNAVAILABLE', 'libtorch cannot find a CUDA device.', {
      help: "Give device: 'auto' or 'cpu', or install the driver and a libtorch with CUDA. `npx acc env` shows both.",
    });
  }
  return device !== 'cpu' && gpus > 0 ? `cuda:${localRank % gpus}` : 'cpu';
}

const NOT_INSTALLED = ['ACC_LIBTORCH_MISSING', 'ACC_ADDON_MISSING', 'ACC_PLATFORM_UNSUPPORTED'];
let toldOfFallback = false;

/**
 * Loads libtorch here, because tfjs hides the errors of a backend that it initialises. If libtorch
 * is not installed and not needed, one process continues on the active backend, with one warning.
 */
function isNativeReady(isNeeded: boolean): boolean {
  try {
    torchVersion();
    return true;
  } catch (error) {
    if (isNeeded || !isAccError(error) || !NOT_INSTALLED.includes(error.code)) throw error;
    if (!toldOfFallback) {
      toldOfFallback = true;
      console.warn(`acc: training runs in one process on the active tfjs backend. ${error.message}`);
    }
    return false;
  }
}
