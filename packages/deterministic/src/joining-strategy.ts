import type { Tensor } from '@tensorflow/tfjs-core';
import type { GradientReduction, Strategy } from '@acc/contract';

/**
 * `strategy`, whose reductions are given whole gradients.
 *
 * @param whole Gives a gradient's values in a tensor that is whole; the caller's.
 */
export function joiningStrategy(strategy: Strategy, whole: (grad: Tensor) => Tensor): Strategy {
  return {
    ...strategy,
    beginReduction(variables): GradientReduction {
      const reduction = strategy.beginReduction(variables);
      return {
        ready(index, grad) {
          const joined = whole(grad);
          grad.dispose();
          reduction.ready(index, joined);
        },
        finish: () => reduction.finish(),
      };
    },
  };
}
