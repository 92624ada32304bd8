import type { AdamW, SgdW } from '@acc/optimizers';
import { adamUpdate } from './adam-update.js';
import type { Rule } from './rule.js';

/** Adam after the weights have shrunk by the factor 1 - η λ. */
export const adamw: Rule<AdamW> = {
  open(optimizer, step) {
    const { learningRate } = optimizer;
    const { beta1, beta2, epsilon } = optimizer.settings;
    const count = optimizer.iterations + 1;
    return adamUpdate(step, {
      ...{ learningRate, beta1, beta2, epsilon },
      power1: beta1 ** count,
      power2: beta2 ** count,
      decayOf: (name) => optimizer.decayOf(name),
    });
  },
};

/** Gradient descent, with or without momentum, after the weights have shrunk by 1 - η λ. */
export const sgdw: Rule<SgdW> = {
  open(optimizer, step) {
    const { learningRate } = optimizer;
    const { momentum, nesterov } = optimizer.settings;
    const [rate, factor] = step.scalars(learningRate, momentum);
    const flags = [step.operators.flag('use_nesterov', nesterov)];
    return ({ variable, grad, state }) =>
      step.registers.update([variable, ...state], ([w, a]) => {
        const decay = optimizer.decayOf(variable.name);
        if (decay > 0) step.shrink(w!, 1 - learningRate * decay);
        const g = step.idOf(grad);
        if (a === undefined) step.write('ResourceApplyGradientDescent', [w!, rate!, g]);
        else step.write('ResourceApplyMomentum', [w!, a, rate!, g, factor!], flags);
      });
  },
};
