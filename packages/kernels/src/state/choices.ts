import { cpus } from 'node:os';
import { AccError, type StateTree } from '@acc/contract';
import { torchVersion } from '@acc/native';
import { chosenCandidates, useCandidates } from '../tuning/tuning.js';

/**
 * The choices between several kernels. Different kernels may differ in their last bits, so a
 * resumed run uses the same ones.
 */
export function savedChoices(): StateTree {
  return { machine: machine(), chosen: chosenCandidates() };
}

/**
 * Restores the choices on the same machine only. On another machine other kernels are fastest, and
 * results differ in any case.
 */
export function restoreChoices(state: StateTree): void {
  const { machine: saved, chosen } = (state ?? {}) as { machine?: unknown; chosen?: unknown };
  // The state comes from a backend without choices.
  if (chosen === undefined) return;
  if (typeof chosen !== 'object' || chosen === null) {
    throw new AccError('ACC_STATE_INVALID', 'This value is not a state of the kernel layer.', {
      help: 'Load another checkpoint: this one was changed.',
    });
  }
  if (saved === machine()) useCandidates(chosen as Record<string, string>);
}

function machine(): string {
  return `${cpus()[0]?.model ?? ''} torch ${torchVersion()}`;
}
