import type { Variable } from '@tensorflow/tfjs-core';
import { fillingEmpty, handingOver, requireValues } from '@acc/big-model';
import { notePrepared, type Preparation, type Strategy } from '@acc/contract';
import type { TrainingStep } from '../step/training-step.js';
import { requirePackedFits } from '../presets/packed-variables.js';

interface PreparationContext {
  readonly strategy: Strategy;
  readonly trainingStep: Pick<TrainingStep, 'limits'>;
  readonly life: Preparation;
}

/**
 * Gives variables to the strategy. Those that `initEmptyWeights` created are filled: a strategy that
 * reads one gets its initial values, so it decides how many of them are in memory at a time. A
 * strategy that shards variables also takes over those that are offloaded.
 * From then on `parallelize` and `cut` refuse them.
 *
 * @throws AccError `ACC_WEIGHT_LOST` for weights whose values were freed for others that did not come;
 * `ACC_QUANTIZED_PLACE`, `ACC_QUANTIZED_FROZEN` for packed ones.
 */
export function prepareVariables(
  { strategy, trainingStep, life }: PreparationContext,
  variables: readonly Variable[],
  layers?: readonly unknown[],
): void {
  requireValues(variables);
  for (const variable of variables) requirePackedFits(variable, trainingStep.limits);
  const handed = strategy.traits.parameters === 'sharded' ? variables : [];
  fillingEmpty(variables, () => handingOver(handed, () => strategy.prepareVariables(variables, layers)));
  notePrepared(variables, life);
}
