import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { AccBackend } from '../backend.js';

/** A view may keep at most this many times its own elements alive; smaller parts are copied. */
const MAX_KEPT_RATIO = 4;

/**
 * Whether a part of `x` with that many elements may be a view. A view keeps its whole base in
 * memory. Users of tfjs expect a small slice to outlive a big tensor without keeping its memory, so
 * small parts are copied.
 */
export function mayView(backend: AccBackend, x: TensorInfo, elements: number): boolean {
  return elements * MAX_KEPT_RATIO >= backend.keptElements(x);
}
