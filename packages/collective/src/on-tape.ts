import { customGrad, type Tensor } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';

/** A collective of one tensor, as an operator of a step. */
export interface CollectiveOperator {
  /** Calls the collective. What it gives is new, or its argument. */
  readonly run: (x: Tensor) => Tensor;
  /**
   * Gives the gradient of `x` from the gradients that ranks have of their results: for a sum over ranks the sum over ranks, for a gathering
   * the scattered sum. Ranks call it in the same order. Absent: the result has no gradient.
   */
  readonly gradient?: (dy: Tensor) => Tensor;
}

/**
 * Runs a collective as an operator: a recorded step calls it again in each replay, and its gradient is another collective, which has
 * the first one for its gradient. The result is the caller's.
 */
export function collectiveOnTape(
  x: Tensor,
  { run, gradient }: CollectiveOperator,
  kernels: Pick<KernelLayer, 'recorder'>,
): Tensor {
  if (!gradient) return recorded(x, run, kernels);
  const operator = customGrad((given) => ({
    value: recorded(given as Tensor, run, kernels),
    gradFunc: (dy: Tensor) => collectiveOnTape(dy, { run: gradient, gradient: run }, kernels),
  }));
  return operator(x);
}

function recorded(
  x: Tensor,
  run: (x: Tensor) => Tensor,
  { recorder }: Pick<KernelLayer, 'recorder'>,
): Tensor {
  return recorder ? recorder.host([x], ([own]) => [run(own!)])[0]! : run(x);
}
