import type { Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';

/** How the weights of one model lie on the ranks of a pipeline. */
export interface StagePlacement {
  /** The rank of the pipeline that holds each weight. */
  readonly owners: ReadonlyMap<Variable, number>;
  /** The layers of the model. */
  readonly layers: readonly unknown[];
  /** The layers that this rank does not run. */
  readonly layersElsewhere: ReadonlySet<unknown>;
  /** Optimizers that may have state of the weights. */
  readonly optimizers: readonly Optimizer[];
}

/** The weights of one step. */
export interface StagedStep {
  /** Weights of other ranks, with their values, which the call disposes. */
  readonly borrowed: ReadonlyMap<Variable, Tensor>;
  /** The weights of the model that are trained, of all ranks, in the order of the model. */
  readonly trained: readonly Variable[];
}

/** Weights that are given to the ranks of a pipeline. */
export interface StagedWeights {
  /**
   * Gives each weight to one rank of the pipeline. Other ranks free their memory for it. Every rank
   * calls it, with weights that are prepared.
   */
  place(placement: StagePlacement): void;
  /** Brings this rank's weights into memory for a step. */
  enterStep(step: StagedStep): void;
  /** Ends the step, also after an error. Does nothing outside of one. */
  leaveStep(): void;
  /** This rank's elements of a weight, for the ranks that borrow it. */
  ownValues(variable: Variable): Tensor;
}

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
