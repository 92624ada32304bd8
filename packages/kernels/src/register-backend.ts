import '@tensorflow/tfjs-backend-cpu';
import { findBackendFactory, registerBackend, registerGradient, registerKernel } from '@tensorflow/tfjs-core';
import { AccError, registerKernelLayer } from '@acc/contract';
import { ACC_LAYER } from './acc-layer/acc-layer.js';
import { BACKEND_NAME } from './acc-names.js';
import { AccBackend } from './backend.js';
import { cpuFallbacks } from './cpu-fallback.js';
import { replaceGradients } from './gradients/replace.js';
import { saveShapesOnly } from './gradients/saved-shapes.js';
import { watchVariables } from './host-constants.js';
import { replaceLosses } from './losses/replace.js';
import { OWN_GRADIENTS, OWN_KERNELS } from './own-kernels.js';

export interface RegisterOptions {
  /**
   * The device of all tensors: `cpu`, `cuda:0`. Default: `cpu`, or the device of an earlier call.
   */
  readonly device?: string;
}

/** The devices of the program's calls, and of all calls. */
const chosen: { byProgram?: string | undefined; last?: string | undefined } = {};
let isMade = false;

/** The device that the backend has, or else the one that the program chose. Undefined if neither is so. */
export function registeredDevice(): string | undefined {
  return isMade ? deviceToUse() : chosen.byProgram;
}

const deviceToUse = (): string => chosen.last ?? 'cpu';

/**
 * Registers the backend for `await tf.setBackend('acc')`. libtorch is loaded when the backend is
 * first set. May be called again.
 *
 * @throws AccError `ACC_DEVICE_CHANGED` for another device once the backend was set.
 */
export function registerAccBackend({ device }: RegisterOptions = {}): void {
  registerAccBackendFor(device ?? chosen.last);
  chosen.byProgram = device ?? chosen.byProgram;
}

/**
 * As {@link registerAccBackend}, for a device that the program did not choose. {@link registeredDevice}
 * returns it once the backend was set.
 */
export function registerAccBackendFor(device: string | undefined): void {
  if (isMade && (device ?? 'cpu') !== deviceToUse()) {
    throw new AccError(
      'ACC_DEVICE_CHANGED',
      `The backend already has tensors on ${deviceToUse()}, so ${device} cannot be used.`,
      {
        help: 'Choose the device before the first tensor is created on the backend. A process can use only one.',
      },
    );
  }
  chosen.last = device;
  registerKernelLayer(ACC_LAYER);
  if (findBackendFactory(BACKEND_NAME)) return;
  registerBackend(BACKEND_NAME, () => {
    replaceGradients();
    saveShapesOnly();
    watchVariables();
    replaceLosses();
    const backend = new AccBackend(deviceToUse());
    isMade = true;
    return backend;
  });
  const native = new Set(OWN_KERNELS.map(({ kernelName }) => kernelName));
  for (const config of [...OWN_KERNELS, ...cpuFallbacks(native)]) registerKernel(config);
  for (const config of OWN_GRADIENTS) registerGradient(config);
}
