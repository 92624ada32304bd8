/** The median; of an even number of values the lower one of the middle two, so that it is one of the values. NaN of none. */
export function medianLow(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? NaN;
}
