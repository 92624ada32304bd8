import { describe, expect, it } from 'vitest';
import { sampleWords } from '../order/random.js';
import { centre, randomPart, randomPlace } from './crop-box.js';

const draws = Array.from({ length: 300 }, (_, i) => sampleWords(7, 0, i));

describe('randomPart', () => {
  it('has a share of the area and a ratio in their ranges, and lies in the image', () => {
    const image = { height: 300, width: 400 };
    const parts = draws.map((draw) => randomPart(image, { scale: [0.1, 0.5], ratio: [0.5, 2] }, draw));
    for (const { top, left, height, width } of parts) {
      expect(Math.min(top, left, 300 - top - height, 400 - left - width)).toBeGreaterThanOrEqual(0);
      // Sides are rounded to whole pixels.
      expect((height * width) / (300 * 400)).toBeGreaterThan(0.098);
      expect((height * width) / (300 * 400)).toBeLessThan(0.503);
      expect(width / height).toBeGreaterThan(0.49);
      expect(width / height).toBeLessThan(2.03);
    }
    expect(new Set(parts.map(({ top }) => top)).size).toBeGreaterThan(50);
  });

  it('is the largest part at the centre if none fits', () => {
    const ranges = { scale: [1, 1], ratio: [1, 1] } as const;
    expect(randomPart({ height: 10, width: 40 }, ranges, draws[0]!)).toEqual({
      ...{ top: 0, left: 15, height: 10, width: 10 },
    });
  });
});

it('places parts at the centre and at random, also over padding', () => {
  const part = { height: 4, width: 4 };
  expect(centre({ height: 8, width: 10 }, part)).toEqual({ ...part, top: 2, left: 3 });
  const places = draws.map((draw) => randomPlace({ height: 4, width: 5 }, part, 2, draw));
  expect(new Set(places.map(({ top }) => top))).toEqual(new Set([-2, -1, 0, 1, 2]));
  expect(new Set(places.map(({ left }) => left))).toEqual(new Set([-2, -1, 0, 1, 2, 3]));
});
