import { losses, type Tensor } from '@tensorflow/tfjs-core';

export type Loss = (...args: unknown[]) => Tensor;

/** The table of `tf.losses`. Layers and programs look up its functions by name in each call. */
export function lossTable(): Record<string, Loss> {
  return losses as unknown as Record<string, Loss>;
}
