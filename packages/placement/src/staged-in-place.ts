import type { Variable } from '@tensorflow/tfjs-core';
import type { StagedWeights } from '@acc/contract';

/**
 * The same weights for a strategy that has others in their place, such as this rank's shards of them.
 *
 * @param ownOf What the inner strategy holds for a variable of the model.
 */
export function stagedInPlace(stages: StagedWeights, ownOf: (variable: Variable) => Variable): StagedWeights {
  const keyed = <T>(map: ReadonlyMap<Variable, T>) => {
    return new Map(Array.from(map, ([variable, value]) => [ownOf(variable), value]));
  };
  return {
    place: ({ owners, ...others }) => stages.place({ ...others, owners: keyed(owners) }),
    enterStep: ({ borrowed, trained }) =>
      stages.enterStep({ borrowed: keyed(borrowed), trained: trained.map(ownOf) }),
    leaveStep: () => stages.leaveStep(),
    ownValues: (variable) => stages.ownValues(ownOf(variable)),
  };
}
