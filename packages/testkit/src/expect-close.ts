import { AccError, checkKeys } from '@acc/contract';

/** A number, a typed array or a plain array of these to any depth. Booleans count as 0 and 1. */
export type Values = number | boolean | ArrayLike<number | boolean> | readonly Values[];

export interface CloseOptions {
  /** Relative tolerance, as a part of the expected value. Default 1e-5. */
  readonly rtol?: number;
  /** Absolute tolerance, in the unit of the values. Default 1e-8. */
  readonly atol?: number;
}

/** The element that is furthest out of tolerance. */
interface Worst {
  readonly index: readonly number[];
  readonly actual: number;
  readonly expected: number;
  readonly excess: number;
}

/**
 * Passes when the two have the same nesting and lengths and every element holds
 * `|actual - expected| <= atol + rtol * |expected|`. NaN equals only NaN, an infinity only the same infinity.
 * A typed array and a plain array of the same length are the same shape.
 *
 * @throws AccError `ACC_EXPECT_SHAPE` with the place where the shapes part; `ACC_EXPECT_CLOSE` with `details`
 * `{index, actual, expected, outside, compared}` of the worst element and the number of elements outside.
 */
export function expectClose(actual: Values, expected: Values, options: CloseOptions = {}): void {
  checkKeys('expectClose', options, ['rtol', 'atol']);
  const { rtol = 1e-5, atol = 1e-8 } = options;
  let worst: Worst | undefined;
  let outside = 0;
  let compared = 0;
  visitPairs(actual, expected, [], (a, e, index) => {
    compared++;
    const excess = excessOf(a, e, rtol, atol);
    if (excess <= 0) return;
    outside++;
    if (!worst || excess > worst.excess) worst = { index: [...index], actual: a, expected: e, excess };
  });
  if (!worst) return;
  const { index } = worst;
  throw new AccError(
    'ACC_EXPECT_CLOSE',
    `${outside} of ${compared} values differ; the worst, at [${index.join(', ')}], is ${worst.actual} ` +
      `where ${worst.expected} was expected (rtol ${rtol}, atol ${atol}).`,
    { details: { index, actual: worst.actual, expected: worst.expected, outside, compared } },
  );
}

/** How far a pair is beyond its tolerance; 0 or less when it is within. */
function excessOf(actual: number, expected: number, rtol: number, atol: number): number {
  if (Object.is(actual, expected) || actual === expected) return 0;
  if (!Number.isFinite(actual) || !Number.isFinite(expected)) return Infinity;
  return Math.abs(actual - expected) - (atol + rtol * Math.abs(expected));
}

type Visit = (actual: number, expected: number, index: readonly number[]) => void;

/** Calls `visit` for each pair of leaves. `index` is one array that changes in place: a copy per leaf is slow. */
function visitPairs(actual: Values, expected: Values, index: number[], visit: Visit): void {
  const sizeA = sizeOf(actual);
  const sizeE = sizeOf(expected);
  if (sizeA !== sizeE) {
    throw new AccError(
      'ACC_EXPECT_SHAPE',
      `Shapes differ at [${index.join(', ')}]: ${describeSize(sizeA)} where ${describeSize(sizeE)} was expected.`,
      { details: { index: [...index], actual: sizeA, expected: sizeE } },
    );
  }
  if (sizeA === undefined) return visit(Number(actual), Number(expected), index);
  const depth = index.length;
  for (let i = 0; i < sizeA; i++) {
    index[depth] = i;
    visitPairs((actual as Values[])[i]!, (expected as Values[])[i]!, index, visit);
    index.length = depth + 1;
  }
  index.length = depth;
}

/** The length of an array; undefined for a leaf. */
function sizeOf(values: Values): number | undefined {
  if (typeof values === 'number' || typeof values === 'boolean') return undefined;
  if (typeof values === 'object' && values !== null && typeof values.length === 'number')
    return values.length;
  throw new AccError('ACC_EXPECT_SHAPE', `expectClose compares numbers and arrays, not ${String(values)}.`, {
    help: 'Pass tensor.dataSync() or tensor.arraySync() for a tensor.',
  });
}

const describeSize = (size: number | undefined): string =>
  size === undefined ? 'a number' : `${size} elements`;
