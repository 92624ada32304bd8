/** Whether two shapes, or parts of them, are equal. */
export const isSameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, dim) => size === b[dim]);
