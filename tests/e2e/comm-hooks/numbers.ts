/** Numbers in [-1, 1) that are exact in float32, like `number` of python/make_fixture.py. */
export function number(rank: number, step: number, variable: number, i: number): number {
  let x =
    Math.imul(i + 1, 0x9e3779b1) ^
    Math.imul(rank + 1, 0x85ebca6b) ^
    Math.imul(step + 1, 0xc2b2ae35) ^
    Math.imul(variable + 1, 0x27d4eb2f);
  x ^= x >>> 15;
  x = Math.imul(x, 0x2c1b3c6d);
  x ^= x >>> 12;
  x = Math.imul(x, 0x297a2d39);
  x ^= x >>> 15;
  return (x >>> 8) / 2 ** 23 - 1;
}

export function numbers(rank: number, step: number, variable: number, size: number): Float32Array {
  return Float32Array.from({ length: size }, (_, i) => number(rank, step, variable, i));
}

/** The rank argument of `number` for starting matrices. */
const Q_RANK = 100;

/** PowerSGD's starting matrix for a variable with this many columns, row-major [columns, rank]. */
export const startingQ = (variable: number, columns: number, rank: number) =>
  numbers(Q_RANK, 0, variable, columns * rank);
