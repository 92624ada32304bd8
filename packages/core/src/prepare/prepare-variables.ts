import type { Variable } from '@tensorflow/tfjs-core';
import { fillingEmpty, handingOver, requireValues } from '@acc/big-model';
import { notePrepared, type Preparation, type Strategy } from '@acc/contract';

/**
 * Gives variables to the strategy. Those that `initEmptyWeights` created are filled: a strategy that
 * reads one gets its initial values, so it decides how many of them are in memory at a time. A
 * strategy that shards variables also takes over those that are offloaded.
 * From then on `parallelize` and `cut` refuse them.
 *
 * @throws AccError `ACC_WEIGHT_LOST` for weights whose values were freed for others that did not come.
 */
export function prepareVariables(
  { strategy, life }: { readonly strategy: Strategy; readonly life: Preparation },
  variables: readonly Variable[],
  layers?: readonly unknown[],
): void {
  requireValues(variables);
  const handed = strategy.traits.parameters === 'sharded' ? variables : [];
  fillingEmpty(variables, () => handingOver(handed, () => strategy.prepareVariables(variables, layers)));
  notePrepared(variables, life);
}
