import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitRows } from './split-rows.js';

describe('splitRows', () => {
  it('gives the first parts one more row', () => {
    expect(splitRows(7, 3).map(({ count }) => count)).toEqual([3, 2, 2]);
    expect(splitRows(2, 3).map(({ count }) => count)).toEqual([1, 1, 0]);
  });

  it('cuts into consecutive parts whose lengths differ by at most one', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.integer({ min: 1, max: 9 }), (rows, size) => {
        const parts = splitRows(rows, size);
        const counts = parts.map(({ count }) => count);
        let end = 0;
        for (const { start, count } of parts) {
          expect(start).toBe(end);
          end += count;
        }
        expect(end).toBe(rows);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
