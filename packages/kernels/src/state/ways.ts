import { cpus } from 'node:os';
import { AccError, type StateTree } from '@acc/contract';
import { torchVersion } from '@acc/native';
import { chosenWays, takeWays } from '../tuning/tuning.js';

/**
 * Which of several kernels were chosen. Two ways differ in their last bits: a run that goes on takes the same ones again.
 */
export function savedWays(): StateTree {
  return { machine: machine(), chosen: chosenWays() };
}

/** On another machine, other ways are the fastest, and numbers differ in any case. */
export function restoreWays(state: StateTree): void {
  const { machine: saved, chosen } = (state ?? {}) as { machine?: unknown; chosen?: unknown };
  // Saved on a backend that has nothing to choose from.
  if (chosen === undefined) return;
  if (typeof chosen !== 'object' || chosen === null) {
    throw new AccError('ACC_STATE_INVALID', 'This is no state of the kernel layer.');
  }
  if (saved === machine()) takeWays(chosen as Record<string, string>);
}

function machine(): string {
  return `${cpus()[0]?.model ?? ''} torch ${torchVersion()}`;
}
