import type { Tensor } from '@tensorflow/tfjs-core';
import { boundMembers, STRATEGY_MEMBERS, type GradientReduction, type Strategy } from '@acc/contract';

/**
 * Wraps `strategy` so that its reductions get whole gradients.
 *
 * @param whole Returns a whole tensor with the values of a gradient. The caller owns it.
 */
export function joiningStrategy(strategy: Strategy, full: (grad: Tensor) => Tensor): Strategy {
  return {
    ...boundMembers(strategy, Object.keys(STRATEGY_MEMBERS) as (keyof Strategy)[]),
    beginReduction(variables): GradientReduction {
      const reduction = strategy.beginReduction(variables);
      return {
        ready(index, grad) {
          const joined = full(grad);
          grad.dispose();
          reduction.ready(index, joined);
        },
        finish: () => reduction.finish(),
      };
    },
  };
}
