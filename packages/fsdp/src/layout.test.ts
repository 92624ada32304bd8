import { describe, expect, it } from 'vitest';
import { boxesOf, layoutOf, rangeOf } from './layout.js';

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

/** The row-major indices of a box's elements, in the order of the box. */
function indicesIn(shape: readonly number[], offset: readonly number[], sizes: readonly number[]): number[] {
  let indices = [0];
  shape.forEach((length, dim) => {
    const rows = Array.from({ length: sizes[dim]! }, (_, i) => offset[dim]! + i);
    indices = indices.flatMap((index) => rows.map((row) => index * length + row));
  });
  return indices;
}

describe('a range of elements', () => {
  it.each([[[24]], [[4, 6]], [[2, 3, 4]], [[6, 1, 4]], [[1, 24]], [[24, 1]]])(
    'of a tensor of shape %j is a few boxes with the same elements in the same order',
    (shape) => {
      for (let begin = 0; begin < 24; begin++) {
        for (let end = begin + 1; end <= 24; end++) {
          const boxes = boxesOf(shape, { begin, end });
          const elements = boxes.flatMap(({ offset, sizes, start }) => {
            const indices = indicesIn(shape, offset, sizes);
            expect(indices[0]).toBe(begin + start);
            return indices;
          });
          expect(elements).toEqual(Array.from({ length: end - begin }, (_, i) => begin + i));
          expect(boxes.length).toBeLessThanOrEqual(2 * shape.length - 1);
        }
      }
    },
  );

  it('that is empty is a box without elements', () => {
    expect(boxesOf([4, 6], { begin: 3, end: 3 })).toEqual([
      { shape: [4, 6], offset: [0, 0], sizes: [0, 0], start: 0 },
    ]);
  });
});
