import { computePending } from './all-pending.js';
import { computeLazy } from './lazy.js';

/** Computes all that waits. */
export function computeWaiting(): void {
  computePending();
  computeLazy();
}
