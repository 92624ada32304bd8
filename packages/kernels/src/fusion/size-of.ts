/** The number of elements of a shape. */
export const sizeOf = (shape: readonly number[]): number => shape.reduce((size, dim) => size * dim, 1);
