export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

/** The largest value. There may be more values than a call may have arguments. */
export function max(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

export function min(values: readonly number[]): number {
  return -max(values.map((value) => -value));
}

/** NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The value that a tenth of the values are below. NaN for no values. */
export function lowTenth(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 10)] ?? NaN;
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

/** Pearson's correlation. NaN if one of them does not change. */
export function correlation(xs: readonly number[], ys: readonly number[]): number {
  const [x, y] = [mean(xs), mean(ys)];
  const spread = (values: readonly number[], middle: number) =>
    sum(values.map((each) => (each - middle) ** 2));
  const both = sum(xs.map((each, i) => (each - x) * (ys[i]! - y)));
  return both / Math.sqrt(spread(xs, x) * spread(ys, y));
}

/** The sum of the distances from the median. */
export function distanceOf(values: readonly number[]): number {
  const middle = median(values);
  return sum(values.map((value) => Math.abs(value - middle)));
}

/** Places that are tried, and values that are looked at. More of them take longer, and are hardly nearer. */
const PLACES = 200;
const MOST_VALUES = 5000;

/**
 * The place that divides values best into two levels, with at least `side` values on each side.
 *
 * @returns `distance`: the sum of the distances from the medians of both sides. Undefined for too few values.
 */
export function divide(
  all: readonly number[],
  side: number,
): { readonly at: number; readonly distance: number } | undefined {
  let best: { at: number; distance: number } | undefined;
  const thin = Math.ceil(all.length / MOST_VALUES);
  const values = thin > 1 ? all.filter((_, i) => i % thin === 0) : all;
  const stride = Math.max(1, Math.floor(values.length / PLACES));
  for (let at = side; at <= values.length - side; at += stride) {
    const distance = distanceOf(values.slice(0, at)) + distanceOf(values.slice(at));
    if (!best || distance < best.distance) best = { at, distance };
  }
  return best && { at: best.at * thin, distance: best.distance * thin };
}
