import type { GradConfig, KernelConfig } from '@tensorflow/tfjs-core';
import { attentionBlockKernels } from './attention-block-kernel.js';
import { attentionFunction } from './attention-kernel.js';
import { dropoutGradients, dropoutKernels } from './dropout.js';
import { geluFunction } from './gelu.js';
import { layerNormFunction } from './layer-norm.js';
import { rmsNormFunction } from './rms-norm.js';
import { rotaryGradient, rotaryKernel } from './rotary-embedding.js';

const FUSED = [attentionFunction, geluFunction, layerNormFunction, rmsNormFunction];

// Calls marked as pure, so that bundles of pages leave the kernels out.
/** Kernels that only the functions of this package call. */
export const FUNCTION_KERNELS: readonly KernelConfig[] = /* @__PURE__ */ (() => [
  ...FUSED.flatMap(({ kernels }) => kernels),
  ...attentionBlockKernels,
  ...dropoutKernels,
  rotaryKernel,
])();

export const FUNCTION_GRADIENTS: readonly GradConfig[] = /* @__PURE__ */ (() => [
  ...FUSED.map(({ gradient }) => gradient),
  ...dropoutGradients,
  rotaryGradient,
])();
