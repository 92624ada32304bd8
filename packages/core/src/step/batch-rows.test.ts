import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sampleShares, splitRows } from './batch-rows.js';

describe('rows of a batch', () => {
  it('are cut into parts that differ by at most one row and lie one after the other', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.integer({ min: 1, max: 9 }), (total, size) => {
        const parts = splitRows(total, size);
        const counts = parts.map(({ start, end }) => end - start);
        expect(parts[0]!.start).toBe(0);
        expect(parts.at(-1)!.end).toBe(total);
        parts.slice(1).forEach(({ start }, i) => expect(start).toBe(parts[i]!.end));
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('weigh by samples, not by filling', () => {
    expect(sampleShares({ rows: [4, 4, 4], realRows: [4, 2, 0] })).toEqual([4 / 6, 2 / 6, 0]);
    expect(sampleShares({ rows: [1, 1], realRows: [0, 0] })).toEqual([0.5, 0.5]);
  });
});
