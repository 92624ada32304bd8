import { mul, type Tensor } from '@tensorflow/tfjs-core';
import type { Plugin } from '@acc/contract';

/** The product of all plugins' factors. */
export function lossScaleOf(plugins: readonly Plugin[]): number {
  return plugins.reduce((scale, plugin) => scale * (plugin.lossScale?.() ?? 1), 1);
}

/** Divides a gradient by `lossScale`. Takes over `grad` and returns the result. */
export function unscaled(grad: Tensor, lossScale: number): Tensor {
  if (lossScale === 1) return grad;
  const result = mul(grad, 1 / lossScale);
  grad.dispose();
  return result;
}
