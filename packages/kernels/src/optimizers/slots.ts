import { tidy, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { OptimizerVariable } from '@acc/tfjs-internals';

/** The gradients that tfjs's optimizers accept: a record, or a list in the order of the state. */
export type Gradients = Parameters<Optimizer['applyGradients']>[0];

/**
 * One gradient of {@link Gradients}; null or undefined if the loss does not depend on the variable.
 */
export interface NamedGradient {
  readonly name: string;
  readonly grad: Tensor | null | undefined;
}

export function namedGradients(given: Gradients): NamedGradient[] {
  return Array.isArray(given)
    ? given.map(({ name, tensor }) => ({ name, grad: tensor }))
    : Object.entries(given).map(([name, grad]) => ({ name, grad }));
}

/** A state variable, in the form that tfjs's optimizers use. */
export type Slot = OptimizerVariable;

/** The state of one kind, by position in the list of gradients. */
export interface SlotList {
  readonly slots: Slot[];
  /** The part of `originalName` after the variable's name and a slash. */
  readonly suffix: string;
  /** The first value for a variable. Called in a tidy. */
  readonly initial: (variable: Variable) => Tensor;
  /** The shape of the state of a variable. Default: the variable's own shape. */
  readonly shapeFor?: (variable: Variable) => readonly number[];
  /**
   * Whether the state of a variable of that shape is whole, and the same, on ranks that hold shards
   * of the variable. Default: no, each rank has the state of its elements.
   */
  readonly isWhole?: (variable: { readonly shape: readonly number[] }) => boolean;
}

/** One variable's part of a step. */
export interface Update {
  readonly variable: Variable;
  readonly grad: Tensor;
  /** Its state: one variable for each {@link SlotList}. */
  readonly state: readonly Variable[];
}

/**
 * The updates of a step: `gradients[i]` updates `variables[i]`. As in tfjs, state is created for
 * every position, and positions without a gradient are skipped.
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
