import {
  concat,
  reshape,
  slice,
  tidy,
  util,
  zeros,
  type Optimizer,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { TensorShard } from '@acc/contract';
import { slotListsOf } from '@acc/kernels';
import type { Placed } from './placed.js';

/** Frees optimizer state of weights that other ranks hold. Its places in the lists stay. */
export function freeState(optimizers: readonly Optimizer[], placed: readonly Placed[]): void {
  const elsewhere = placed.filter(({ isOwn }) => !isOwn);
  changeState(optimizers, elsewhere, () => zeros([0]));
}

/**
 * Cuts optimizer state of whole weights, as a checkpoint has it, to the elements that this rank has
 * once its stage is sharded.
 *
 * @param shardsOf Undefined for a weight that is not sharded.
 */
export function cutState(
  optimizers: readonly Optimizer[],
  placed: readonly Placed[],
  shardsOf: (placed: Placed) => readonly TensorShard[] | undefined,
): void {
  changeState(optimizers, placed, (state, of) => {
    const shards = shardsOf(of);
    if (!shards || !util.arraysEqual(state.shape, of.full.shape)) return undefined;
    const inOrder = [...shards].sort((a, b) => a.start - b.start);
    const boxes = inOrder.map(({ offset, sizes }) => reshape(slice(state, [...offset], [...sizes]), [-1]));
    return concat(boxes);
  });
}

/** @param change Runs in a tidy. Undefined: the state stays. */
function changeState(
  optimizers: readonly Optimizer[],
  placed: readonly Placed[],
  change: (state: Tensor, of: Placed) => Tensor | undefined,
): void {
  const named = new Map(placed.map((each) => [each.name, each]));
  for (const optimizer of optimizers) {
    for (const { slots, suffix } of slotListsOf(optimizer) ?? []) {
      slots.forEach((slot, i) => {
        const of = slot && named.get(slot.originalName.slice(0, -suffix.length - 1));
        const variable = of && tidy(() => change(slot.variable, of)?.variable(false));
        if (!variable) return;
        slot.variable.dispose();
        slots[i] = { ...slot, variable };
      });
    }
  }
}
