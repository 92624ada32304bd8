import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '@acc/testkit';
import { SOURCE_SHA256 } from './pixel-kernels-wasm.js';
import { fullImageBox, type RawImage } from './raw-image.js';
import { resample } from './resample.js';

const random = seededRandom(3);

function noise(height: number, width: number, channels: number): RawImage {
  const data = Uint8Array.from({ length: height * width * channels }, () => random() * 256);
  return { data, height, width, channels };
}

/** The mean of `values` around each new pixel, weighed by a triangle. */
function stretched(values: readonly number[], to: number): number[] {
  const scale = values.length / to;
  const radius = Math.max(scale, 1);
  return Array.from({ length: to }, (_, i) => {
    const weights = values.map((_, at) => Math.max(1 - Math.abs(at + 0.5 - (i + 0.5) * scale) / radius, 0));
    const sum = values.reduce((total, value, at) => total + value * weights[at]!, 0);
    return Math.round(sum / weights.reduce((total, weight) => total + weight));
  });
}

/** One channel, resized row by row and then column by column. */
function plainly(
  { data, height, width, channels }: RawImage,
  to: [number, number],
  channel: number,
): number[] {
  const rows = Array.from({ length: height }, (_, y) =>
    stretched(
      Array.from({ length: width }, (_, x) => data[(y * width + x) * channels + channel]!),
      to[1],
    ),
  );
  const columns = Array.from({ length: to[1] }, (_, x) =>
    stretched(
      rows.map((row) => row[x]!),
      to[0],
    ),
  );
  return Array.from({ length: to[0] * to[1] }, (_, i) => columns[i % to[1]]![Math.floor(i / to[1])]!);
}

describe('resample', () => {
  it.each([
    [1, 40, 50, 17, 9],
    [3, 40, 50, 17, 9],
    [3, 5, 7, 30, 41],
    [3, 1, 1, 3, 2],
    [1, 3, 300, 3, 1],
  ])('weighs pixels of %i channels by a triangle: %i × %i to %i × %i', (channels, height, width, ...to) => {
    const image = noise(height, width, channels);
    const size = { height: to[0]!, width: to[1]! };
    const got = resample(image, { size, window: fullImageBox(size), isMirrored: false });
    expect(got).toMatchObject({ ...size, channels });
    for (let channel = 0; channel < channels; channel++) {
      const bytes = [...got.data].filter((_, i) => i % channels === channel);
      const wanted = plainly(image, [size.height, size.width], channel);
      // Weights of 22 bits may round halves to the other side.
      bytes.forEach((byte, i) => expect(Math.abs(byte - wanted[i]!)).toBeLessThanOrEqual(1));
      expect(bytes.filter((byte, i) => byte !== wanted[i]).length).toBeLessThanOrEqual(bytes.length / 20);
    }
  });

  it('makes parts of the new image, also mirrored', () => {
    const image = noise(31, 23, 3);
    const size = { height: 12, width: 40 };
    const full = resample(image, { size, window: fullImageBox(size), isMirrored: false });
    const window = { top: 5, left: 11, height: 4, width: 20 };
    for (const isMirrored of [false, true]) {
      const { data } = resample(image, { size, window, isMirrored });
      const wanted = Array.from({ length: 4 * 20 }, (_, i) => {
        const x = window.left + (isMirrored ? 19 - (i % 20) : i % 20);
        const at = ((window.top + Math.floor(i / 20)) * size.width + x) * 3;
        return [...full.data.subarray(at, at + 3)];
      });
      expect([...data]).toEqual(wanted.flat());
    }
  });

  it('gives no weight to the colours of transparent pixels', () => {
    const image = { data: Uint8Array.of(200, 100, 50, 255, 9, 9, 9, 0), height: 1, width: 2, channels: 4 };
    const size = { height: 1, width: 1 };
    const { data } = resample(image, { size, window: fullImageBox(size), isMirrored: false });
    expect([...data]).toEqual([199, 99, 49, 128]);
  });

  it('leaves images of the same size as they are', () => {
    for (const channels of [1, 3]) {
      const image = noise(9, 14, channels);
      expect(resample(image, { size: image, window: fullImageBox(image), isMirrored: false })).toEqual(image);
    }
  });
});

it('runs the compiled form of its source', () => {
  const source = readFileSync(new URL('./pixel-kernels.as', import.meta.url));
  // If this fails: node scripts/wasm.mjs
  expect(createHash('sha256').update(source).digest('hex')).toBe(SOURCE_SHA256);
});
