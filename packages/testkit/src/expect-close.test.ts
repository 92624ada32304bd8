import { describe, expect, it } from 'vitest';
import type { AccError } from '@acc/contract';
import { expectClose, type Values } from './expect-close.js';

function failure(actual: Values, expected: Values, options = {}): AccError {
  try {
    expectClose(actual, expected, options);
  } catch (error) {
    return error as AccError;
  }
  return expect.unreachable();
}

describe('expectClose', () => {
  it('accepts numbers, typed arrays and nested arrays within tolerance', () => {
    expectClose(1 + 1e-6, 1);
    expectClose(new Float32Array([1, 2]), [1, 2]);
    expectClose([[1], [2, [3, true]]], [[1], [2, [3 + 1e-9, 1]]]);
    expectClose([], []);
    expectClose(0.5, 0, { atol: 0.5, rtol: 0 });
  });

  it('applies the relative tolerance to the expected value', () => {
    expectClose(110, 100, { rtol: 0.1, atol: 0 });
    expect(failure(100, 90, { rtol: 0.1, atol: 0 }).code).toBe('ACC_EXPECT_CLOSE');
  });

  it('distinguishes NaN and infinities from all other values', () => {
    expectClose([NaN, Infinity, -Infinity], [NaN, Infinity, -Infinity]);
    const pairs = [
      [NaN, 0],
      [0, NaN],
      [Infinity, -Infinity],
      [1e308, Infinity],
      [Infinity, 1e308],
      [NaN, Infinity],
    ] as const;
    for (const [a, e] of pairs) expect(failure(a, e, { rtol: 10, atol: 10 }).code).toBe('ACC_EXPECT_CLOSE');
  });

  it('names the element that differs most', () => {
    const actual = [
      [1, 2.1],
      [3, 9],
    ];
    const expected = [
      [1, 2],
      [3, 4],
    ];
    expect(failure(actual, expected).details).toEqual({
      index: [1, 1],
      actual: 9,
      expected: 4,
      outside: 2,
      compared: 4,
    });
  });

  it('refuses different shapes, and values that are not numbers', () => {
    expect(failure([1, 2], [1]).code).toBe('ACC_EXPECT_SHAPE');
    expect(failure([[1], [2, 3]], [[1], [2, 3, 4]]).details).toMatchObject({ index: [1] });
    expect(failure(1, [1]).code).toBe('ACC_EXPECT_SHAPE');
    expect(failure({} as never, 1).code).toBe('ACC_EXPECT_SHAPE');
    expect(failure(1, 2, { rtl: 1 }).code).toBe('ACC_UNKNOWN_OPTION');
  });
});
