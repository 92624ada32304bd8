import type { Variable } from '@tensorflow/tfjs-core';
import type { TapeHooks } from '@acc/contract';
import type { Placed } from './placed.js';

/** The weights of a pipeline's stages, as hooks around operators need them. */
export interface WeightsInUse {
  /** Whether a pipelined step runs. All weights that it does not bring for an operator are in memory. */
  isInStep(): boolean;
  /** Whether values are in memory because a program reads them. */
  hasRead(): boolean;
  /** Frees the values that were read, except those of these variables. */
  keepOnly(variables: readonly Variable[]): void;
  /** The weights among these variables whose values come for an operator of this step. */
  coming(variables: readonly Variable[]): readonly Placed[];
  /** Whether a variable is a weight of a model in stages. */
  isOfStage(variable: Variable): boolean;
}

/**
 * The hooks of the inner strategy, which knows the weights that come as variables of their own, and sees
 * no other weights of stages. Also frees weights that were read.
 */
export function stagedTape(inner: TapeHooks | undefined, weights: WeightsInUse): TapeHooks {
  const ofInner = (variables: readonly Variable[]): Variable[] => {
    const others = variables.filter((each) => !weights.isOfStage(each));
    return [...weights.coming(variables).map(({ local }) => local), ...others];
  };
  return {
    ...(inner?.what !== undefined && { what: inner.what }),
    before(variables, phase) {
      weights.keepOnly(variables);
      inner?.before?.(ofInner(variables), phase);
      for (const placed of weights.coming(variables)) placed.useOwn();
    },
    ...(inner?.after && {
      after(variables, phase) {
        for (const placed of weights.coming(variables)) placed.release();
        inner.after!(ofInner(variables), phase);
      },
    }),
    end() {
      weights.keepOnly([]);
      inner?.end?.();
    },
    ...(inner?.pack && {
      pack(tensor, variable) {
        const known = variable && ofInner([variable])[0];
        // The values of its other weights are in memory during the step.
        return variable && !known ? undefined : inner.pack!(tensor, known);
      },
    }),
    // All weights of a step are in memory, and none is read from another rank.
    isIdle: () => weights.isInStep() && (!inner || inner.isIdle?.() === true),
    isInert(variables, phase) {
      if (weights.hasRead() || weights.coming(variables).length > 0) return false;
      return !inner || inner.isInert?.(ofInner(variables), phase) === true;
    },
  };
}
