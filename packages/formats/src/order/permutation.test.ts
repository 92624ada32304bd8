import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { permutation } from './permutation.js';

describe('permutation', () => {
  it('contains every integer below n once', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.integer(), fc.nat(50), (n, seed, epoch) => {
        const sorted = permutation(n, seed, epoch).sort();
        expect(Array.from(sorted)).toEqual(Array.from({ length: n }, (_, i) => i));
      }),
    );
  });

  it('is the same for the same seed and epoch, and differs for others', () => {
    const order = Array.from(permutation(100, 7, 3));
    expect(Array.from(permutation(100, 7, 3))).toEqual(order);
    expect(Array.from(permutation(100, 7, 4))).not.toEqual(order);
    expect(Array.from(permutation(100, 8, 3))).not.toEqual(order);
  });

  it('does not change between releases', () => {
    expect(Array.from(permutation(10, 0, 0))).toMatchInlineSnapshot(`
      [
        9,
        8,
        0,
        2,
        1,
        7,
        5,
        6,
        3,
        4,
      ]
    `);
    expect(Array.from(permutation(10, 42, 1))).toMatchInlineSnapshot(`
      [
        4,
        2,
        7,
        8,
        5,
        0,
        1,
        3,
        6,
        9,
      ]
    `);
  });

  it('puts each number equally often in each place', () => {
    const n = 6;
    const epochs = 6000;
    const seen = Array.from({ length: n }, () => new Array<number>(n).fill(0));
    for (let epoch = 0; epoch < epochs; epoch++) {
      permutation(n, 1, epoch).forEach((value, place) => seen[place]![value]!++);
    }
    // Chi-squared with (n-1)^2 = 25 degrees of freedom: above 52.6 in one of 1,000 fair generators; the seed is fixed.
    const expected = epochs / n;
    const chi2 = seen.flat().reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    expect(chi2).toBeLessThan(52.6);
  });

  it('draws all orders of four items equally often', () => {
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 4800; seed++) {
      const order = permutation(4, seed, 0).join('');
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(24);
    // 23 degrees of freedom: 49.7 at one in 1,000.
    const chi2 = Array.from(counts.values()).reduce((sum, count) => sum + (count - 200) ** 2 / 200, 0);
    expect(chi2).toBeLessThan(49.7);
  });
});
