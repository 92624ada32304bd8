import { util } from '@tensorflow/tfjs-core';

/** Whether two shapes, or parts of them, are equal. */
export const isSameShape = (a: readonly number[], b: readonly number[]): boolean =>
  util.arraysEqual(a as number[], b as number[]);
