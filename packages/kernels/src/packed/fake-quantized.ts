import type { Variable } from '@tensorflow/tfjs-core';

const marked = new WeakSet<Variable>();

/**
 * Notes that a variable belongs to fake quantization: a weight whose rounded values products take, its scales, or
 * the range of its layer's inputs.
 */
export function markFakeQuantized(variable: Variable): void {
  marked.add(variable);
}

/** Ends {@link markFakeQuantized}. */
export function unmarkFakeQuantized(variable: Variable): void {
  marked.delete(variable);
}

/** Whether a variable belongs to fake quantization. See {@link markFakeQuantized}. */
export const isFakeQuantized = (variable: Variable): boolean => marked.has(variable);
