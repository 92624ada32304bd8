import { AccError, checkKeys } from '@acc/contract';

/** A number, a typed array, or an array of these with any nesting. Booleans count as 0 and 1. */
export type Values = number | boolean | ArrayLike<number | boolean> | readonly Values[];

export interface CloseOptions {
  /** The relative tolerance, as a fraction of the expected value. Default 1e-5. */
  readonly rtol?: number;
  /** The absolute tolerance, in the unit of the values. Default 1e-8. */
  readonly atol?: number;
}

/** The element that exceeds its tolerance the most. */
interface Worst {
  readonly index: readonly number[];
  readonly actual: number;
  readonly expected: number;
  readonly excess: number;
}

/**
 * Passes if both values have the same nesting and lengths, and `|actual - expected| <= atol + rtol
 * * |expected|` holds for every element. NaN equals only NaN, and an infinity only the same
 * infinity. A typed array has the same shape as a plain array of the same length.
 *
 * @throws AccError `ACC_EXPECT_SHAPE` with the position of the first difference in shape;
 * `ACC_EXPECT_CLOSE` with `details` `{index, actual, expected, outside, compared}`: the worst
 * element and the number of elements out of tolerance.
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
    {
      help: 'Correct the computation. Give a wider rtol or atol only if rounding explains it.',
      details: { index, actual: worst.actual, expected: worst.expected, outside, compared },
    },
  );
}

/** How much a pair exceeds its tolerance. 0 or less if it is within. */
function excessOf(actual: number, expected: number, rtol: number, atol: number): number {
  if (Object.is(actual, expected) || actual === expected) return 0;
  if (!Number.isFinite(actual) || !Number.isFinite(expected)) return Infinity;
  return Math.abs(actual - expected) - (atol + rtol * Math.abs(expected));
}

type Visit = (actual: number, expected: number, index: readonly number[]) => void;

/**
 * Calls `visit` for each pair of leaves. `index` is a single array that is changed in place,
 * because a copy for each leaf is slow.
 */
function visitPairs(actual: Values, expected: Values, index: number[], visit: Visit): void {
  const sizeA = sizeOf(actual);
  const sizeE = sizeOf(expected);
  if (sizeA !== sizeE) {
    throw new AccError(
      'ACC_EXPECT_SHAPE',
      `Shapes differ at [${index.join(', ')}]: ${describeSize(sizeA)} where ${describeSize(sizeE)} was expected.`,
      {
        help: 'Compare values of one shape.',
        details: { index: [...index], actual: sizeA, expected: sizeE },
      },
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
