import type { GradConfig, KernelConfig } from '@tensorflow/tfjs-core';
import { FUNCTION_GRADIENTS, FUNCTION_KERNELS } from './functions/index.js';
import { ONE_PASS } from './gradients/one-pass.js';
import { powGrad } from './gradients/pow.js';
import { NATIVE_KERNELS } from './kernels/index.js';
import { asInTfjs } from './odd-arguments/as-in-tfjs.js';
import { LAYER_GRADIENTS, LAYER_KERNELS } from './layers/index.js';
import { CROSS_ENTROPY_GRADIENTS, CROSS_ENTROPY_KERNELS } from './losses/cross-entropy-kernels.js';
import { castGradient, castKernel, promoted } from './precision/index.js';

/** Every kernel that runs on libtorch: tfjs's kernels, and those that only this backend has. */
export const OWN_KERNELS: readonly KernelConfig[] = [
  ...NATIVE_KERNELS,
  ...ONE_PASS.map(({ kernel }) => kernel),
  powGrad,
  ...CROSS_ENTROPY_KERNELS,
  ...FUNCTION_KERNELS,
  ...LAYER_KERNELS,
  castKernel,
]
  .map(promoted)
  .map(asInTfjs);

/** The gradients of the kernels that tfjs does not have. */
export const OWN_GRADIENTS: readonly GradConfig[] = [
  ...CROSS_ENTROPY_GRADIENTS,
  ...FUNCTION_GRADIENTS,
  ...LAYER_GRADIENTS,
  castGradient,
];
