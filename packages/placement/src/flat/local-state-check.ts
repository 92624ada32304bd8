import type { Optimizer } from '@tensorflow/tfjs-core';
import { AccError, type Collective } from '@acc/contract';
import { placeSlots, registeredVariable, slotListsOf, stateTypeOf } from '@acc/kernels';
import type { DistributedVariable } from '../distributed-variable.js';

export interface LocalStateContext {
  /** The names of the gradients of an update, in their order. The optimizer finds its state by this order. */
  readonly names: readonly string[];
  /** The sharded variables of the update, by name. */
  readonly distributed: ReadonlyMap<string, DistributedVariable>;
  readonly collective: Collective;
}

/**
 * Requires that an optimizer has the state of this rank's elements, or none yet. It has other state
 * if it took steps before its variables were divided. It also has other state if a variable was
 * replaced by one of which this rank has other elements. Every rank calls it.
 *
 * @throws AccError `ACC_STATE_MISMATCH` on every rank, with the state of each rank that does not fit.
 */
export function requireLocalState(
  optimizer: Optimizer,
  { names, distributed, collective }: LocalStateContext,
): void {
  const lists = slotListsOf(optimizer) ?? [];
  placeSlots(names, lists);
  const wrong = names.flatMap((name, i) => {
    const local = distributed.has(name) ? registeredVariable(name) : undefined;
    if (!local) return [];
    return lists.flatMap((list) => {
      const { slots, suffix } = list;
      const found = (slots[i] as (typeof slots)[number] | undefined)?.variable.shape;
      const needed = stateTypeOf(list, local).shape;
      if (!found || found.join() === needed.join()) return [];
      return `${name}/${suffix} has the shape [${found.join()}] instead of [${needed.join()}]`;
    });
  });
  const ofRanks = collective.allGatherObject(wrong);
  if (ofRanks.every((each) => each.length === 0)) return;
  throw otherState(optimizer, ofRanks);
}

function otherState(optimizer: Optimizer, ofRanks: readonly (readonly string[])[]): AccError {
  const kind = optimizer.getClassName();
  const lines = ofRanks.map((each, rank) => {
    const more = each.length > 1 ? `, and ${each.length - 1} more` : '';
    return `    rank ${rank}: ${each.length === 0 ? 'its state fits' : `${each[0]}${more}`}`;
  });
  return new AccError(
    'ACC_STATE_MISMATCH',
    `The state of this ${kind} belongs to other elements than ranks have now:\n${lines.join('\n')}`,
    {
      help: 'Use a new optimizer for variables that are prepared or replaced after steps were taken. To keep its state, call saveState before, and loadState after prepare.',
      details: { optimizer: kind, ranks: ofRanks },
    },
  );
}
