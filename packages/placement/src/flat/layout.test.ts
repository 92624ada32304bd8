import { describe, expect, it } from 'vitest';
import { layoutOf, rangeOf } from './layout.js';

describe('a unit', () => {
  it.each([1, 2, 3, 7])('is divided completely and once over %i ranks', (ranks) => {
    const sizes = [28, 1, 16, 100, 3];
    const layout = layoutOf(sizes, ranks);
    expect(layout.chunk % 16).toBe(0);
    sizes.forEach((size, place) => {
      expect(layout.offsets[place]! % 16).toBe(0);
      let at = 0;
      for (let rank = 0; rank < ranks; rank++) {
        const { begin, end } = rangeOf(layout, place, rank);
        if (begin === end) continue;
        expect(begin).toBe(at);
        at = end;
      }
      expect(at).toBe(size);
    });
    expect(layout.chunk * ranks).toBeGreaterThanOrEqual(layout.offsets.at(-1)! + sizes.at(-1)!);
  });
});
