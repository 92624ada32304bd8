import {
  registerGradient,
  registerKernel,
  unregisterGradient,
  unregisterKernel,
  type GradConfig,
  type KernelConfig,
} from '@tensorflow/tfjs-core';

/** Replaces the kernel of that name and backend. tfjs warns if one is registered twice. */
export function replaceKernel(config: KernelConfig): void {
  unregisterKernel(config.kernelName, config.backendName);
  registerKernel(config);
}

/** Replaces the gradient of that kernel. */
export function replaceGradient(config: GradConfig): void {
  unregisterGradient(config.kernelName);
  registerGradient(config);
}
