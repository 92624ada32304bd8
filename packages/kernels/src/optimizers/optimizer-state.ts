import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { optimizerInternals } from '@acc/tfjs-internals';
import { ruleOf } from './fused/fused-apply.js';
import type { SlotOptimizer } from './slot-optimizer.js';
import type { Slot } from './slots.js';

/** What an optimizer keeps from step to step, to be read and changed. */
export interface OptimizerState {
  /** Steps taken. */
  iterations: number;
  /** Undefined where there is no such number. */
  learningRate: number | undefined;
  /**
   * By kind (`m`, `v`): a variable for each position in the list of gradients that it has met. The lists are the optimizer's own;
   * `originalName` is the name of the trained variable, a slash and the kind.
   */
  readonly slots: Readonly<Record<string, Slot[]>>;
  /** Further variables, which count steps. */
  readonly scalars: readonly Variable[];
}

/** Undefined for an optimizer of a class of which nothing is known but `getWeights` and `setWeights`. */
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
      // Setting makes a tensor where tfjs keeps the rate in one.
      if (rate === undefined || inside.learningRate === rate) return;
      if (inside.setLearningRate) inside.setLearningRate(rate);
      else inside.learningRate = rate;
    },
  };
}

function kindsOf(optimizer: Optimizer): Pick<OptimizerState, 'slots' | 'scalars'> | undefined {
  // Not by instanceof, which tfjs has say yes of every optimizer.
  const { stateLists } = optimizer as Partial<SlotOptimizer>;
  if (stateLists) return { slots: bySuffix(stateLists), scalars: [] };
  const rule = ruleOf(optimizer);
  if (!rule) return undefined;
  return { slots: bySuffix(rule.slotLists(optimizer)), scalars: rule.scalars?.(optimizer) ?? [] };
}

function bySuffix(lists: readonly { readonly suffix: string; readonly slots: Slot[] }[]) {
  return Object.fromEntries(lists.map(({ suffix, slots }) => [suffix, slots]));
}
