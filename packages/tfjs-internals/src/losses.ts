import { losses, type Tensor } from '@tensorflow/tfjs-core';

export type Loss = (...args: unknown[]) => Tensor;

/** `tf.losses` as a table: layers and programs look its functions up by name in each call. */
export function lossTable(): Record<string, Loss> {
  return losses as unknown as Record<string, Loss>;
}
