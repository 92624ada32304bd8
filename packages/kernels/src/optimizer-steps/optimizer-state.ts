import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { optimizerInternals } from '@acc/tfjs-internals';
import { ruleOf } from './fused/fused-apply.js';
import { mayPack, type Packing, type StateBits } from './packed/packing.js';
import type { SlotOptimizer } from './slot-optimizer.js';
import type { Slot, SlotList } from './slots.js';

/** The state that an optimizer keeps between steps, for reading and changing. */
export interface OptimizerState {
  /** Steps taken. */
  iterations: number;
  /** Undefined if the optimizer has no numeric learning rate. */
  learningRate: number | undefined;
  /**
   * State variables by kind (`m`, `v`). Each list holds one variable for each position in the list
   * of gradients so far. The optimizer owns the lists. `originalName` is the name of the trained
   * variable, a slash and the kind.
   */
  readonly slots: Readonly<Record<string, Slot[]>>;
  /**
   * Whether the state of one kind of a variable of that shape is whole, and the same, on ranks that
   * hold shards of the variable.
   */
  isWhole(kind: string, variable: { readonly shape: readonly number[] }): boolean;
  /** Bits of an element of state that may be packed: 32 if none is. */
  readonly stateBits: StateBits;
  /** How the state of one kind of a variable is packed. Undefined: it is float32. */
  packingOf(kind: string, variable: Variable): Packing | undefined;
  /** Further variables, which depend on the number of steps. */
  readonly scalars: readonly Variable[];
}

/** Returns undefined if only `getWeights` and `setWeights` of the optimizer's class are known. */
export function optimizerState(optimizer: Optimizer): OptimizerState | undefined {
  const kinds = kindsOf(optimizer);
  if (!kinds) return undefined;
  const inside = optimizerInternals(optimizer);
  return {
    ...kinds,
    get iterations() {
      return optimizer.iterations;
    },
    set iterations(count) {
      inside.iterations_ = count;
    },
    get learningRate() {
      return typeof inside.learningRate === 'number' ? inside.learningRate : undefined;
    },
    set learningRate(rate) {
      // tfjs may keep the rate in a tensor: the setter then creates a new tensor.
      if (rate === undefined || inside.learningRate === rate) return;
      if (inside.setLearningRate) inside.setLearningRate(rate);
      else inside.learningRate = rate;
    },
  };
}

/**
 * The kinds of state of an optimizer, with the first value of each. Undefined for a class whose
 * state is not known.
 */
export function slotListsOf(optimizer: Optimizer): readonly SlotList[] | undefined {
  // instanceof does not work here: tfjs defines it to be true for every optimizer.
  return (optimizer as Partial<SlotOptimizer>).stateLists ?? ruleOf(optimizer)?.slotLists(optimizer);
}

function kindsOf(optimizer: Optimizer): Omit<OptimizerState, 'iterations' | 'learningRate'> | undefined {
  const lists = slotListsOf(optimizer);
  return (
    lists && {
      slots: bySuffix(lists),
      isWhole: (kind, variable) => lists.find(({ suffix }) => suffix === kind)?.isWhole?.(variable) ?? false,
      stateBits: lists.find(({ packing }) => packing)?.packing?.bits ?? 32,
      packingOf: (kind, variable) =>
        mayPack(variable) ? lists.find(({ suffix }) => suffix === kind)?.packing : undefined,
      scalars: ruleOf(optimizer)?.scalars?.(optimizer) ?? [],
    }
  );
}

function bySuffix(lists: readonly { readonly suffix: string; readonly slots: Slot[] }[]) {
  return Object.fromEntries(lists.map(({ suffix, slots }) => [suffix, slots]));
}
