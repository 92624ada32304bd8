import { tidy, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { OptimizerVariable } from '@acc/tfjs-internals';
import { registeredVariable } from '../live-variables.js';
import { frozenPacked } from '../packed/frozen.js';
import { packedOf } from '../packed/packed-tensor.js';
import { mayPack, type Packing } from './packed/packing.js';

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
  /** How the state of variables that are large enough is packed. Default: all state is float32. */
  readonly packing?: Packing;
  /**
   * Whether the state of a variable of that shape is whole, and the same, on ranks that hold shards
   * of the variable. Default: no, each rank has the state of its elements.
   */
  readonly isWhole?: (variable: { readonly shape: readonly number[] }) => boolean;
}

/** The dtype and shape that an optimizer keeps for a variable. */
export function stateTypeOf({ shapeFor, packing }: SlotList, variable: Variable) {
  const dtype = packing && mayPack(variable) ? ('int32' as const) : ('float32' as const);
  return { dtype, shape: shapeFor?.(variable) ?? variable.shape };
}

/** One variable's part of a step. */
export interface Update {
  readonly variable: Variable;
  readonly grad: Tensor;
  /** Its state: one variable for each {@link SlotList}. */
  readonly state: readonly Variable[];
}

/** The name of the variable whose last step used a state variable. */
const usedFor = new WeakMap<Variable, string>();

/** Takes note that a state variable was used for the variable of that name: see {@link placeSlots}. */
export function noteUse(state: Variable, name: string): void {
  if (usedFor.get(state) !== name) usedFor.set(state, name);
}

/**
 * Moves state to where optimizers look for it: to the position of its variable's gradient. Positions
 * change if variables are frozen or thawed, or if a program trains variables in turn. State of other
 * variables goes to the end. As in tfjs, state belongs to the gradient of its position if no variable
 * that exists has used it, for example after `setWeights`.
 *
 * @returns The first variable that had another variable's state at its position, if any.
 */
export function placeSlots(names: readonly string[], lists: readonly SlotList[]): Misplaced | undefined {
  let misplaced: Misplaced | undefined;
  for (const { slots } of lists) {
    const owners = slots.map((slot) => ownerOf(slot));
    if (names.every((name, i) => owners[i] === undefined || owners[i] === name)) continue;
    const placed = names.map((name, i) => {
      const place = owners.indexOf(name);
      if (place >= 0) return slots[place];
      return owners[i] === undefined ? slots[i] : undefined;
    });
    const others = slots.filter((slot) => !placed.includes(slot));
    // State of variables without any is made at their positions.
    slots.splice(0, slots.length, ...(placed as Slot[]), ...others);
    const at = names.findIndex((name, i) => owners[i] !== undefined && owners[i] !== name);
    misplaced ??= { name: names[at]!, owner: owners[at]! };
  }
  return misplaced;
}

/** A variable, and the one whose state was at the position of its gradient. */
export interface Misplaced {
  readonly name: string;
  readonly owner: string;
}

/**
 * Runs `apply`, which gives `gradients` to the optimizer's own method, with each variable's own state
 * at the position of its gradient. tfjs alone would use the state that is there.
 *
 * @param lists The optimizer's state.
 * @param misplaced Called if that is another variable's.
 */
export function withStateOf(
  lists: readonly SlotList[],
  gradients: Gradients,
  { apply, misplaced }: { readonly apply: () => void; readonly misplaced: (at: Misplaced) => void },
): void {
  const names = namedGradients(gradients).map(({ name }) => name);
  const found = placeSlots(names, lists);
  if (found) misplaced(found);
  try {
    apply();
  } finally {
    for (const { slots } of lists) {
      names.forEach((name, i) => {
        if (slots[i]) noteUse(slots[i].variable, name);
      });
      // A step that failed may have left places empty, which optimizers do not expect.
      const filled = slots.filter((slot) => (slot as Slot | undefined) !== undefined);
      if (filled.length < slots.length) slots.splice(0, slots.length, ...filled);
    }
  }
}

/** The variable that has used the state, if it exists still. */
function ownerOf(slot: Slot | undefined): string | undefined {
  const name = slot && usedFor.get(slot.variable);
  return name !== undefined && registeredVariable(name) ? name : undefined;
}

/**
 * The updates of a step: `gradients[i]` updates `variables[i]`. As in tfjs, state is created for
 * every position, and positions without a gradient are skipped.
 *
 * @throws AccError `ACC_QUANTIZED_FROZEN` for a packed variable. Nothing has changed then.
 */
export function updatesOf(
  gradients: readonly NamedGradient[],
  variables: readonly Variable[],
  lists: readonly SlotList[],
): Update[] {
  const packed = variables.find((variable, i) => gradients[i]!.grad && packedOf(variable));
  if (packed) throw frozenPacked(packed);
  placeSlots(
    gradients.map(({ name }) => name),
    lists,
  );
  const updates: Update[] = [];
  gradients.forEach(({ name, grad }, i) => {
    const variable = variables[i]!;
    const state: Variable[] = [];
    for (const { slots, suffix, initial } of lists) {
      slots[i] ??= {
        originalName: `${name}/${suffix}`,
        variable: tidy(() => initial(variable).variable(false)),
      };
      noteUse(slots[i].variable, name);
      state.push(slots[i].variable);
    }
    if (grad) updates.push({ variable, grad, state });
  });
  return updates;
}
