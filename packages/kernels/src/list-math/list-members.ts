import type { Tensor, Variable } from '@tensorflow/tfjs-core';

/**
 * The maximum length of a list in a native call: the addon limits the number of arguments and
 * results.
 */
export const MAX_LIST = 1000;

/**
 * Whether `tensor` is a variable. If a variable itself is the gradient, its data is about to
 * change.
 */
export function isVariable(tensor: Tensor): boolean {
  return (tensor as Partial<Variable>).assign !== undefined;
}
