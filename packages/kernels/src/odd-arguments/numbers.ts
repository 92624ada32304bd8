/** The attributes of a kernel, as a program gave them: tfjs checks few of them. */
export type Attrs = Readonly<Record<string, unknown>>;

/** Whether `value` is an integer of at least `least`. */
export const isCount = (value: unknown, least = 0): boolean =>
  Number.isInteger(value) && (value as number) >= least;

/** Whether `value` is a list of integers of at least `least`. */
export function areCounts(value: unknown, least = 0): value is number[] {
  if (!Array.isArray(value)) return false;
  for (const entry of value) if (!isCount(entry, least)) return false;
  return true;
}

/** Whether `value` is one integer of at least 1, or a list of `dims` of them. */
export function areSteps(value: unknown, dims: number): boolean {
  if (!Array.isArray(value)) return isCount(value, 1);
  return value.length === dims && areCounts(value, 1);
}

/** Whether `axis` names a dim of `rank` dims, from the front or from the end. */
export const isAxis = (axis: unknown, rank: number): axis is number =>
  Number.isInteger(axis) && (axis as number) >= -rank && (axis as number) < rank;

/** Whether `axes` names dims of `rank` dims, each of them once. */
export function areAxes(axes: unknown, rank: number): boolean {
  if (!Array.isArray(axes)) return isAxis(axes, rank);
  const dims = axes.map((axis: number) => (axis < 0 ? axis + rank : axis));
  return axes.every((axis) => isAxis(axis, rank)) && (dims.length < 2 || new Set(dims).size === dims.length);
}

/** Whether `pairs` is a list of `count` pairs of integers of at least 0. */
export function arePairs(pairs: unknown, count: number): pairs is [number, number][] {
  if (!Array.isArray(pairs) || pairs.length !== count) return false;
  for (const pair of pairs) if (!areCounts(pair) || pair.length !== 2) return false;
  return true;
}

/** Whether an attribute has a number with a fraction. */
export function hasFraction(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasFraction);
  return typeof value === 'number' && !Number.isInteger(value);
}
