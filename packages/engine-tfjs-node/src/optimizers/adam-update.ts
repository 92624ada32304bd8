import type { Update } from '@acc/kernels';
import type { Step } from './rule.js';

export interface AdamConstants {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** β₁ and β₂ to the power of the number of the step. */
  readonly power1: number;
  readonly power2: number;
  /** λ of a variable. The weights first shrink by the factor 1 - learningRate · λ. Default 0. */
  readonly decayOf?: (name: string) => number;
}

/**
 * Adam by TensorFlow's operator. Its ε is added to the root of the uncorrected second moment, so it
 * gets ε · √(1 - β₂ᵗ), which gives the same quotient.
 */
export function adamUpdate(step: Step, constants: AdamConstants): (update: Update) => void {
  const { learningRate, beta1, beta2, epsilon, power1, power2, decayOf } = constants;
  const corrected = epsilon * Math.sqrt(1 - power2);
  const scalars = step.scalars(power1, power2, learningRate, beta1, beta2, corrected);
  const nesterov = [step.operators.flag('use_nesterov', false)];
  return ({ variable, grad, state }) =>
    step.registers.update([variable, ...state], (registers) => {
      const decay = decayOf?.(variable.name) ?? 0;
      if (decay > 0) step.shrink(registers[0]!, 1 - learningRate * decay);
      step.write('ResourceApplyAdam', [...registers, ...scalars, step.idOf(grad)], nesterov);
    });
}
