/**
 * The largest difference of the elements of two tensors, relative to the largest magnitude of
 * `expected`.
 */
export function relativeDifference(values: ArrayLike<number>, expected: ArrayLike<number>): number {
  const largest = Math.max(...Array.from(expected, Math.abs));
  return Math.max(...Array.from(values, (value, i) => Math.abs(value - expected[i]!))) / largest;
}
