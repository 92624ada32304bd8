import type { NativeTensor } from '@acc/contract';
import { addon } from './addon.js';
import { guarded } from './errors.js';
import { Tensor } from './tensor.js';

// A recording can state the calls of a step while the step computes their results later, or in other
// calls. Operators on shadows are recorded, and compute only shapes.

/** Runs `action`, of which no call is recorded. */
export function unrecorded<T>(action: () => T): T {
  const wasOn = addon().recordCalls(false);
  try {
    return action();
  } finally {
    if (wasOn) addon().recordCalls(true);
  }
}

/**
 * A tensor without memory that the recording in progress takes for `tensor`. Caller disposes.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` if nothing is recorded.
 */
export function shadowOf(tensor: NativeTensor): Tensor {
  const id = guarded(() => addon().recordingShadow((tensor as Tensor).id));
  return new Tensor(id, tensor.dtype, tensor.shape);
}

/**
 * From now on the recording in progress takes `tensor` for what `shadow` stands for.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` if nothing is recorded.
 */
export function bindToShadow(tensor: NativeTensor, shadow: NativeTensor): void {
  guarded(() => addon().bindRecorded((tensor as Tensor).id, (shadow as Tensor).id));
}
