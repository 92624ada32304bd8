import type { NamedTensorMap, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { variablesOfGrads } from './trained-variables.js';

/**
 * Checks that every trained variable is averaged. While each rank trains alone, any other variable
 * would end with different values on each rank.
 *
 * @param averaged The variables of each active LocalSGD or DiLoCo.
 * @throws AccError `ACC_NOT_AVERAGED`.
 */
export function requireAveraged(grads: NamedTensorMap, averaged: readonly ReadonlySet<Variable>[]): void {
  const names = variablesOfGrads(grads)
    .filter((variable) => !averaged.some((variables) => variables.has(variable)))
    .map(({ name }) => name);
  if (names.length === 0) return;
  throw new AccError(
    'ACC_NOT_AVERAGED',
    `An optimizer trains ${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}, but LocalSGD or DiLoCo was created without these variables.`,
    {
      help: 'Give it a list of all trained variables, or train the others inside accelerator.noSync.',
      details: { names },
    },
  );
}
