import { util, type NamedTensorMap, type Optimizer, type Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import { noteUse, placeSlots, slotListsOf } from '@acc/kernels';
import { stateLost } from './errors.js';
import type { StoredVariable } from './stored-variable.js';
import { isLost, type VariableStore } from './variable-store.js';

/**
 * The state of each variable, by the variable's name. Missing state is created without memory,
 * where the optimizer looks for it: at the position of the gradient.
 *
 * @param grads What the optimizer will be given.
 * @param held The variables to update, by name.
 */
export function storedSlots(
  optimizer: Optimizer,
  grads: NamedTensorMap,
  held: ReadonlyMap<string, Variable>,
  store: VariableStore,
): ReadonlyMap<string, readonly StoredVariable[]> {
  const lists = slotListsOf(optimizer) ?? [];
  placeSlots(Object.keys(grads), lists);
  const found = new Map<string, StoredVariable[]>();
  Object.keys(grads).forEach((name, i) => {
    const variable = held.get(name);
    if (!variable) return;
    const stored = lists.flatMap(({ slots, suffix, initial, shapeFor }) => {
      const shape = shapeFor?.(variable) ?? variable.shape;
      if (util.sizeFromShape([...shape]) === 0) return [];
      slots[i] ??= {
        originalName: `${name}/${suffix}`,
        variable: store.create({ shape, initial: () => initial(variable) }).variable,
      };
      noteUse(slots[i].variable, name);
      return store.of(slots[i].variable);
    });
    found.set(name, stored);
  });
  return found;
}

/**
 * Every rank calls it, because a rank without elements has lost nothing.
 *
 * @throws AccError `ACC_SHARD_FREED` on every rank, if state was in a file that is closed.
 */
export function requireState(optimizer: Optimizer, collective: Collective): void {
  const lists = slotListsOf(optimizer) ?? [];
  const hasLost = lists.some(({ slots }) => slots.some(({ variable }) => isLost(variable)));
  if (collective.allGatherObject(hasLost).includes(true)) throw stateLost(optimizer);
}
