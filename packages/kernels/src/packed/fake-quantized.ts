import type { Variable } from '@tensorflow/tfjs-core';

const marked = new WeakSet<Variable>();

/** Notes that products take the rounded values of a variable, which is trained in float32. */
export function markFakeQuantized(variable: Variable): void {
  marked.add(variable);
}

/** Ends {@link markFakeQuantized}. */
export function unmarkFakeQuantized(variable: Variable): void {
  marked.delete(variable);
}

/** Whether products take the rounded values of a variable, which is trained in float32. */
export const isFakeQuantized = (variable: Variable): boolean => marked.has(variable);
