/**
 * Relative error of numbers that are not integers: reciprocals of sizes were rounded to float32.
 */
const ROUNDING = 2e-7;
/** The largest number of factors in a product of sizes, as of rows, columns and channels. */
const MAX_FACTORS = 3;
/** The largest number of different sizes in products. */
const MAX_SIZES = 4;

/** A number for the first sizes, and its counterpart for the second sizes. */
type Pair = readonly [first: number, second: number];

/**
 * Whether numbers in which two recordings of a step differ follow from the sizes of its arguments.
 * Each must be a constant times a product of sizes, such as the count of a mean, a constant over
 * such a product, or a size plus or minus a constant. One factor may be the neighbour of a size: a
 * sequence without its last token has one element less. The constant is the same for both sizes. A
 * factor of integers is an integer or one over an integer.
 *
 * This is evidence that the numbers do not change from run to run, as a second recording would be.
 *
 * @param numbers In pairs: a number of the first recording, then that of the second.
 */
export function areExplainedBySizes(
  numbers: ArrayLike<number>,
  firstSizes: readonly number[],
  secondSizes: readonly number[],
): boolean {
  const sizes = distinct(firstSizes.map((size, i) => [size, secondSizes[i]!])).filter(([a, b]) => a !== b);
  const products = productsOf(sizes.slice(0, MAX_SIZES));
  const pairs = distinct(
    Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i]!, numbers[2 * i + 1]!]),
  );
  return pairs.every(
    (pair) =>
      products.some((product) => isMultiple(pair, product)) || sizes.some((size) => isShifted(pair, size)),
  );
}

/** Products of sizes, and of sizes with one neighbour of a size. */
function productsOf(sizes: readonly Pair[]): Pair[] {
  const neighbours = sizes.flatMap(([a, b]) => [-1, 1].map((shift): Pair => [a + shift, b + shift]));
  const all: Pair[] = [];
  let products: Pair[] = [[1, 1]];
  for (let count = 0; count < MAX_FACTORS; count++) {
    all.push(...times(products, neighbours));
    products = times(products, sizes);
    all.push(...products);
  }
  return distinct(all).filter(([a, b]) => a > 0 && b > 0);
}

const times = (products: readonly Pair[], factors: readonly Pair[]): Pair[] =>
  distinct(products.flatMap(([a, b]) => factors.map(([x, y]): Pair => [a * x, b * y])));

/** Whether a number is c · product or c / product. */
function isMultiple([x, y]: Pair, [a, b]: Pair): boolean {
  if (!Number.isInteger(x) || !Number.isInteger(y)) {
    return isClose(x * b, y * a) || isClose(x * a, y * b);
  }
  return (x * b === y * a && (x % a === 0 || a % x === 0)) || x * a === y * b;
}

/** Whether an integer is c + size or c - size. */
const isShifted = ([x, y]: Pair, [a, b]: Pair): boolean => x - a === y - b || x + a === y + b;

const isClose = (p: number, q: number): boolean => Math.abs(p - q) <= ROUNDING * Math.abs(p);

function distinct(pairs: readonly Pair[]): Pair[] {
  return [...new Map(pairs.map((pair) => [pair.join(), pair])).values()];
}
