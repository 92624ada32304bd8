import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clipToNorm, normOf } from './clip.js';
import { fedAvg } from './fed-avg.js';
import { coordinateMedian } from './median.js';
import { trimmedMean } from './trimmed-mean.js';
import type { ClientUpdate } from './update.js';

const element = fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 });
const updates = fc.integer({ min: 1, max: 6 }).chain((length) =>
  fc.array(
    fc.tuple(fc.integer({ min: 1, max: 1000 }), fc.array(element, { minLength: length, maxLength: length })),
    {
      minLength: 1,
      maxLength: 9,
    },
  ),
);

const given = (rows: [number, number[]][]): ClientUpdate[] =>
  rows.map(([samples, values], i) => ({ client: `c${i}`, samples, update: Float32Array.from(values) }));

const columns = (rows: readonly ClientUpdate[]) =>
  Array.from(rows[0]!.update, (_, i) => rows.map(({ update }) => update[i]!));

const plainMean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);

function expectNear(actual: ArrayLike<number>, expected: readonly number[]): void {
  // Both sides add float64 numbers in different orders.
  Array.from(actual).forEach((value, i) => expect(Math.abs(value - expected[i]!)).toBeLessThan(1e-8));
  expect(actual.length).toBe(expected.length);
}

describe('aggregators equal their definitions', () => {
  it('fedAvg: every sample of a client counts once', () => {
    fc.assert(
      fc.property(updates, (rows) => {
        const all = given(rows);
        const expected = columns(all).map((column) =>
          plainMean(column.flatMap((value, k) => Array.from({ length: all[k]!.samples }, () => value))),
        );
        const actual = fedAvg(all);
        expected.forEach((value, i) => expect(actual[i]).toBeCloseTo(value, 5));
      }),
    );
  });

  it('median: the middle of the sorted values', () => {
    fc.assert(
      fc.property(updates, (rows) => {
        const all = given(rows);
        const expected = columns(all).map((column) => {
          const values = sorted(column);
          const half = Math.floor(values.length / 2);
          return values.length % 2 === 1 ? values[half]! : (values[half - 1]! + values[half]!) / 2;
        });
        expectNear(coordinateMedian(all), expected);
      }),
    );
  });

  it('trimmedMean: the mean without both ends', () => {
    fc.assert(
      fc.property(updates, fc.double({ min: 0, max: 0.49, noNaN: true }), (rows, ratio) => {
        const all = given(rows);
        const cut = Math.floor(ratio * all.length);
        const expected = columns(all).map((column) =>
          plainMean(sorted(column).slice(cut, column.length - cut)),
        );
        expectNear(trimmedMean(ratio)(all), expected);
      }),
    );
  });

  it('clipping: the direction stays, and the norm is at most the limit', () => {
    fc.assert(
      fc.property(updates, fc.double({ min: 1e-3, max: 1e6, noNaN: true }), ([row], maxNorm) => {
        const { update } = given([row!])[0]!;
        const norm = normOf(update);
        expect(norm).toBeCloseTo(Math.hypot(...update), 4);
        const clipped = clipToNorm(update, norm, maxNorm);
        if (norm <= maxNorm) expect(clipped).toBe(update);
        else {
          // float32 rounds each element.
          expect(normOf(clipped)).toBeLessThanOrEqual(maxNorm * (1 + 1e-6));
          update.forEach((value, i) => expect(clipped[i]).toBe(Math.fround(value * (maxNorm / norm))));
        }
      }),
    );
  });
});

it('a minority cannot move a median out of the range of honest clients', () => {
  fc.assert(
    fc.property(fc.array(element, { minLength: 3, maxLength: 7 }), element, (honest, factor) => {
      const poisoned = honest.slice(1).map((value) => value * 1e3 * factor);
      const all = given([...honest, ...poisoned].map((value) => [1, [value]]));
      const [median] = coordinateMedian(all);
      expect(median).toBeGreaterThanOrEqual(Math.min(...honest.map(Math.fround)));
      expect(median).toBeLessThanOrEqual(Math.max(...honest.map(Math.fround)));
    }),
  );
});

it('the norm of what is not finite is NaN', () => {
  for (const value of [NaN, Infinity, -Infinity]) expect(normOf(Float32Array.of(1, value))).toBeNaN();
  expect(normOf(Float32Array.of(3e38, 3e38))).toBeCloseTo(Math.SQRT2 * Math.fround(3e38), -30);
});
