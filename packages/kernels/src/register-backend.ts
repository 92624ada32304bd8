import '@tensorflow/tfjs-backend-cpu';
import { findBackendFactory, registerBackend, registerKernel } from '@tensorflow/tfjs-core';
import { AccBackend, BACKEND_NAME } from './backend.js';
import { cpuFallbacks } from './cpu-fallback.js';
import { replaceGradients } from './gradients/replace.js';
import { NATIVE_KERNELS } from './kernels/index.js';

export interface RegisterOptions {
  /** Where tensors live: `cpu` (default), `cuda:0`. */
  readonly device?: string;
}

/**
 * Makes `await tf.setBackend('acc')` possible. libtorch is loaded when the backend is first set. A second call does
 * nothing.
 */
export function registerAccBackend({ device = 'cpu' }: RegisterOptions = {}): void {
  if (findBackendFactory(BACKEND_NAME)) return;
  registerBackend(BACKEND_NAME, () => {
    replaceGradients();
    return new AccBackend(device);
  });
  const native = new Set(NATIVE_KERNELS.map(({ kernelName }) => kernelName));
  for (const config of [...NATIVE_KERNELS, ...cpuFallbacks(native)]) registerKernel(config);
}
