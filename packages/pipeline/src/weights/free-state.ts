import { tidy, variable as createVariable, zeros, type Optimizer } from '@tensorflow/tfjs-core';
import { slotListsOf } from '@acc/kernels';
import type { Placed } from './placed.js';

/** Frees optimizer state of weights that other ranks hold. Its places in the lists stay. */
export function freeState(optimizers: readonly Optimizer[], placed: readonly Placed[]): void {
  const elsewhere = new Set(placed.filter(({ isOwn }) => !isOwn).map(({ variable }) => variable.name));
  for (const optimizer of optimizers) {
    for (const { slots, suffix } of slotListsOf(optimizer) ?? []) {
      slots.forEach((slot, i) => {
        if (!slot || !elsewhere.has(slot.originalName.slice(0, -suffix.length - 1))) return;
        slot.variable.dispose();
        slots[i] = { ...slot, variable: tidy(() => createVariable(zeros([0]), false)) };
      });
    }
  }
}
