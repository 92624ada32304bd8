import type { Tensor } from '@tensorflow/tfjs-core';

/** Whether a record of tfjs has a gradient in this place. Missing ones are null or undefined. */
export const isThere = (grad: Tensor | null | undefined): grad is Tensor => grad != null;
