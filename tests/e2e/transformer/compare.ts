import type * as tf from '@tensorflow/tfjs';
import { expect } from 'vitest';
import { expectClose } from '@acc/testkit';

/** The root mean square of `values`. */
export const rms = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);

/**
 * Sums of float32 in another order differ relative to the size of their terms.
 *
 * @param size That of the terms. Default: of the values.
 */
export function expectNear(
  actual: readonly number[],
  expected: readonly number[],
  rtol = 2e-5,
  size = rms(expected),
): void {
  expect(actual.length).toBe(expected.length);
  expectClose(actual, expected, { rtol, atol: rtol * size });
}

export const flat = (x: tf.Tensor): number[] => Array.from(x.dataSync());
