import type { Variable } from '@tensorflow/tfjs-core';
import { fillingEmpty } from '@acc/big-model';
import type { Strategy } from '@acc/contract';

/**
 * Gives variables to the strategy. Those that `initEmptyWeights` created are filled: a strategy that
 * reads one gets its initial values, so it decides how many of them are in memory at a time.
 */
export function prepareVariables(
  strategy: Strategy,
  variables: readonly Variable[],
  layers?: readonly unknown[],
): void {
  fillingEmpty(variables, () => strategy.prepareVariables(variables, layers));
}
