export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

/** NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The median distance from the median, scaled to the standard deviation of a normal distribution. */
export function deviation(values: readonly number[]): number {
  const middle = median(values);
  return 1.4826 * median(values.map((value) => Math.abs(value - middle)));
}

/** The line through points by least squares. `t`: its slope divided by the slope's standard error. */
export function line(
  xs: readonly number[],
  ys: readonly number[],
): { readonly slope: number; readonly t: number } {
  const [x, y] = [mean(xs), mean(ys)];
  const spread = sum(xs.map((each) => (each - x) ** 2));
  const slope = sum(xs.map((each, i) => (each - x) * (ys[i]! - y))) / spread;
  const rest = sum(xs.map((each, i) => (ys[i]! - y - slope * (each - x)) ** 2));
  return { slope, t: slope / Math.sqrt(rest / (xs.length - 2) / spread) };
}
