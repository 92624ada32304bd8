import type { GradConfig, KernelConfig } from '@tensorflow/tfjs-core';
import { AFFINE_GRADIENTS } from './affine-gradients.js';
import { batchNormFunction } from './batch-norm-kernel.js';
import { GRU, LSTM, recurrentGradient, recurrentKernels } from './recurrent-kernels.js';

// Calls marked as pure, so that bundles of pages leave the kernels out.
/** Kernels that only fused layers call. */
export const LAYER_KERNELS: readonly KernelConfig[] = /* @__PURE__ */ (() => [
  ...batchNormFunction.kernels,
  ...recurrentKernels(LSTM),
  ...recurrentKernels(GRU),
])();

export const LAYER_GRADIENTS: readonly GradConfig[] = /* @__PURE__ */ (() => [
  ...AFFINE_GRADIENTS,
  batchNormFunction.gradient,
  recurrentGradient(LSTM),
  recurrentGradient(GRU),
])();
