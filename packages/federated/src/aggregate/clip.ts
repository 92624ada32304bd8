/** The Euclidean norm, or NaN if an element is not finite. */
export function normOf(update: Float32Array): number {
  let sum = 0;
  for (const value of update) sum += value * value;
  // Squares of float32 cannot exceed float64: only elements that are not finite do that.
  return Number.isFinite(sum) ? Math.sqrt(sum) : NaN;
}

/**
 * Scales an update down to a norm: update · min(1, maxNorm / norm). Shorter ones are returned as
 * they are.
 *
 * Source: Sun et al., "Can You Really Backdoor Federated Learning?" (2019), section 3.
 */
export function clipToNorm(update: Float32Array, norm: number, maxNorm: number): Float32Array {
  if (norm <= maxNorm) return update;
  const factor = maxNorm / norm;
  return update.map((value) => value * factor);
}
