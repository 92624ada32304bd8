import { tidy, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { OptimizerVariable } from '@acc/tfjs-internals';

/** What tfjs's optimizers are given: a record, or a list whose order is that of the state. */
export type Gradients = Parameters<Optimizer['applyGradients']>[0];

/** One gradient of {@link Gradients}; null or undefined where the loss did not depend on the variable. */
export interface NamedGradient {
  readonly name: string;
  readonly grad: Tensor | null | undefined;
}

export function namedGradients(given: Gradients): NamedGradient[] {
  return Array.isArray(given)
    ? given.map(({ name, tensor }) => ({ name, grad: tensor }))
    : Object.entries(given).map(([name, grad]) => ({ name, grad }));
}

/** A variable of state, in the form that tfjs's optimizers keep. */
export type Slot = OptimizerVariable;

/** State of one kind, by position in the list of gradients. */
export interface SlotList {
  readonly slots: Slot[];
  /** What follows the variable's name in `originalName`. */
  readonly suffix: string;
  /** The first value for a variable. Called in a tidy. */
  readonly initial: (variable: Variable) => Tensor;
  /** The shape for a variable; by default the variable's own. */
  readonly shapeFor?: (variable: Variable) => readonly number[];
}

/** One variable's part of a step. */
export interface Update {
  readonly variable: Variable;
  readonly grad: Tensor;
  /** Its state, one for each {@link SlotList}. */
  readonly state: readonly Variable[];
}

/**
 * What is to be updated: `variables[i]` by `gradients[i]`. As in tfjs, state is made for every position, and positions
 * without gradient are passed over.
 */
export function updatesOf(
  gradients: readonly NamedGradient[],
  variables: readonly Variable[],
  lists: readonly SlotList[],
): Update[] {
  const updates: Update[] = [];
  gradients.forEach(({ name, grad }, i) => {
    const variable = variables[i]!;
    const state: Variable[] = [];
    for (const { slots, suffix, initial } of lists) {
      slots[i] ??= {
        originalName: `${name}/${suffix}`,
        variable: tidy(() => initial(variable).variable(false)),
      };
      state.push(slots[i].variable);
    }
    if (grad) updates.push({ variable, grad, state });
  });
  return updates;
}
