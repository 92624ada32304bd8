import type { Tensor } from '@tensorflow/tfjs-core';
import type { Strategy } from '@acc/contract';

/** One rank, or ranks that have nothing to do with each other: gradients stay as they are. */
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
