import {
  addcdiv_,
  addScalar_,
  lerp_,
  mul_,
  scale,
  sign,
  sqrt_,
  type AdamStepConstants,
  type StepChunk,
} from '@acc/kernels/optimizer-steps';

/**
 * Updates the weights and the first moments by Adam, in place. The second moments do not change.
 */
export function frozenAdamStep(
  { weights, grads, state: [m, v] }: StepChunk,
  constants: AdamStepConstants & { readonly warmupSteps: number },
): void {
  const { learningRate, beta1, beta2, epsilon, step, warmupSteps } = constants;
  if (weights.length === 0) return;
  lerp_(m, grads, 1 - beta1);
  // The direction is 0 where the variance is 0, so such weights do not change.
  using moving = sign(v);
  mul_(moving.list, m);
  using denominators = scale(v, 1 / (1 - beta2 ** warmupSteps));
  sqrt_(denominators.list);
  addScalar_(denominators.list, epsilon);
  addcdiv_(weights, moving.list, denominators.list, -learningRate / (1 - beta1 ** step));
}
