import type { Variable } from '@tensorflow/tfjs-core';
import { fillingEmpty, handingOver, requireValues } from '@acc/big-model';
import { AccError, notePrepared, type Preparation, type Strategy } from '@acc/contract';
import { packedOf } from '@acc/kernels';

/**
 * Gives variables to the strategy. Those that `initEmptyWeights` created are filled: a strategy that
 * reads one gets its initial values, so it decides how many of them are in memory at a time. A
 * strategy that shards variables also takes over those that are offloaded.
 * From then on `parallelize` and `cut` refuse them.
 *
 * @throws AccError `ACC_WEIGHT_LOST` for weights whose values were freed for others that did not come;
 * `ACC_QUANTIZED_PLACE` for quantized ones under a strategy that shards variables.
 */
export function prepareVariables(
  { strategy, life }: { readonly strategy: Strategy; readonly life: Preparation },
  variables: readonly Variable[],
  layers?: readonly unknown[],
): void {
  requireValues(variables);
  requireWhole(strategy, variables);
  const handed = strategy.traits.parameters === 'sharded' ? variables : [];
  fillingEmpty(variables, () => handingOver(handed, () => strategy.prepareVariables(variables, layers)));
  notePrepared(variables, life);
}

/** Strategies shard float32 values, which a packed variable does not have. */
function requireWhole({ traits, name }: Strategy, variables: readonly Variable[]): void {
  if (traits.parameters === 'replicated') return;
  const packed = variables.find((variable) => packedOf(variable));
  if (!packed) return;
  throw new AccError('ACC_QUANTIZED_PLACE', `'${packed.name}' is quantized, and ${name} cannot shard it.`, {
    help: 'Leave the model in float32, or choose a strategy that gives every rank all weights.',
    details: { name: packed.name, strategy: name },
  });
}
