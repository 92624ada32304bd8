import { customGrad, type Tensor } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';

/** A collective of one tensor, as an operator of a step. */
export interface CollectiveOperator {
  /** Calls the collective. The result is a new tensor or the argument. */
  readonly run: (x: Tensor) => Tensor;
  /**
   * Computes the gradient of `x` from the gradients of the results on all ranks. For a sum over
   * ranks it is the sum over ranks; for a gathering it is the scattered sum. Ranks call it in the
   * same order. Absent: the result has no gradient.
   */
  readonly gradient?: (dy: Tensor) => Tensor;
}

/**
 * Runs a collective as an operator. A recorded step calls it again in each replay. Its gradient is
 * another collective, whose gradient is the first one. The caller owns the result.
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
  return recorder ? recorder.runAction([x], ([local]) => [run(local!)])[0]! : run(x);
}
