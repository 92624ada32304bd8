import type { Tensor } from '@tensorflow/tfjs-core';
import type { Strategy } from '@acc/contract';

/**
 * The strategy for one rank, or for ranks that are independent of each other. Gradients are not
 * changed.
 */
export function singleStrategy(): Strategy {
  return {
    name: 'single',
    traits: { parameters: 'replicated', isLocal: true },
    attach() {},
    prepareVariables() {},
    beginReduction(variables) {
      const grads = new Array<Tensor | null>(variables.length).fill(null);
      return {
        ready(index, grad) {
          grads[index] = grad;
        },
        finish: () => grads,
      };
    },
  };
}
