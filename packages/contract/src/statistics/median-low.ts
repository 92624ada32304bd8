/**
 * The median. For an even number of values it is the lower one of the middle two, so the result is
 * always one of the values. NaN for an empty list.
 */
export function medianLow(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? NaN;
}
