import { expect, it } from 'vitest';
import { pixelValues, takePixels } from './pixels.js';

const plan = { resized: undefined, resize: undefined, crop: undefined, padding: undefined, flip: 0 };
const bytes = (channels: 1 | 3 | 4) => pixelValues({ ...plan, channels, dtype: 'uint8', mean: [], std: [] });
/** 2 × 3 pixels: 10, 20, … in the first channel, 11, 21, … in the second. */
const image = {
  data: Uint8Array.from({ length: 18 }, (_, i) => 10 * (Math.floor(i / 3) + 1) + (i % 3)),
  height: 2,
  width: 3,
  channels: 3,
};
const firsts = (pixels: ArrayLike<number>) => Array.from(pixels).filter((_, i) => i % 3 === 0);
const copy = () => ({ ...image, data: image.data.slice() });

it('cuts and mirrors, and fills with black', () => {
  const take = (top: number, left: number, height: number, width: number, isFlipped = false) =>
    firsts(takePixels(copy(), { top, left, height, width }, isFlipped, bytes(3)).data);
  expect(take(0, 0, 2, 3)).toEqual([10, 20, 30, 40, 50, 60]);
  expect(take(0, 0, 2, 3, true)).toEqual([30, 20, 10, 60, 50, 40]);
  expect(take(1, 1, 1, 2)).toEqual([50, 60]);
  expect(take(-1, -1, 3, 3)).toEqual([0, 0, 0, 0, 10, 20, 0, 40, 50]);
  expect(take(1, 2, 2, 2, true)).toEqual([0, 60, 0, 0]);
  expect([...takePixels(copy(), { top: 0, left: 0, height: 1, width: 2 }, true, bytes(3)).data]).toEqual([
    20, 21, 22, 10, 11, 12,
  ]);
});

it.each([3, 4] as const)('normalises each of %i channels', (channels) => {
  const [mean, std] = [
    [0.1, 0.2, 0.3, 0.4],
    [1, 2, 4, 8],
  ].map((list) => list.slice(0, channels));
  const values = pixelValues({ ...plan, channels, dtype: 'float32', mean: mean!, std: std! });
  const data = Uint8Array.from({ length: 2 * channels }, (_, i) => 30 * i);
  const pixels = takePixels(
    { data, height: 1, width: 2, channels },
    { top: 0, left: 0, height: 1, width: 2 },
    false,
    values,
  );
  expect(pixels.shape).toEqual([1, 2, channels]);
  expect([...pixels.data]).toEqual(
    [...data].map((byte, i) => Math.fround((byte / 255 - mean![i % channels]!) / std![i % channels]!)),
  );
});
