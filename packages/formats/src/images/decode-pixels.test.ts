import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { pixelDecoder, type Channels } from './decode-pixels.js';
import { MAX_PIXELS } from './raw-image.js';

const SIZE = { height: 90, width: 120 };

/** A smooth picture. */
const pixels = Uint8Array.from({ length: SIZE.height * SIZE.width * 3 }, (_, i) => {
  const [x, y, channel] = [Math.floor(i / 3) % SIZE.width, Math.floor(i / 3 / SIZE.width), i % 3];
  return 128 + 100 * Math.sin((x * (channel + 1)) / 17) * Math.cos(y / 11);
});
const picture = () => sharp(pixels, { raw: { ...SIZE, channels: 3 } });

const decoders = (channels: Channels = 3) =>
  Promise.all([
    pixelDecoder('a test', { channels, jpegDecoder: 'sharp', maxPixels: MAX_PIXELS }),
    pixelDecoder('a test', { channels, jpegDecoder: '@napi-rs/image', maxPixels: MAX_PIXELS }),
  ]);

describe("jpegDecoder: '@napi-rs/image'", () => {
  it.each([
    ['chroma of full size', { chromaSubsampling: '4:4:4' }, 0.1],
    ['chroma of half the size', { chromaSubsampling: '4:2:0' }, 0.6],
    ['several scans', { progressive: true, quality: 98 }, 0.6],
  ])('has the pixels of sharp within rounding: %s', async (_, options, mean) => {
    const bytes = await picture().jpeg(options).toBuffer();
    for (const channels of [1, 3, 4] as const) {
      const [one, other] = await decoders(channels);
      for (const part of [undefined, { top: 31, left: 7, height: 40, width: 101 }]) {
        const [a, b] = [await one.decode(bytes, part), await other.decode(bytes, part)];
        expect({ ...b, data: undefined }).toEqual({ ...a, data: undefined });
        const differences = a.data.map((byte, i) => Math.abs(byte - b.data[i]!));
        expect(Math.max(...differences)).toBeLessThanOrEqual(6);
        expect(differences.reduce((sum, value) => sum + value, 0) / a.data.length).toBeLessThan(mean);
      }
    }
  });

  it('leaves other files to sharp', async () => {
    const [one, other] = await decoders();
    const files = [
      picture().toColourspace('b-w').jpeg(),
      picture().toColourspace('cmyk').jpeg(),
      picture().png(),
      picture().webp(),
    ];
    for (const file of files) {
      const bytes = await file.toBuffer();
      expect(await other.decode(bytes)).toEqual(await one.decode(bytes));
    }
  });
});

it.each(['sharp', '@napi-rs/image'] as const)('%s refuses a file that is cut off', async (jpegDecoder) => {
  const bytes = await picture().jpeg().toBuffer();
  const decoder = await pixelDecoder('a test', { channels: 3, jpegDecoder, maxPixels: MAX_PIXELS });
  await expect(decoder.decode(bytes)).resolves.toMatchObject(SIZE);
  await expect(decoder.decode(bytes.subarray(0, bytes.length / 2))).rejects.toThrow();
  await expect(decoder.decode(bytes.subarray(0, 5))).rejects.toThrow();
});

it.each(['png', 'jpeg'] as const)('refuses a file of %s with more than maxPixels', async (format) => {
  const bytes = await picture().toFormat(format).toBuffer();
  for (const jpegDecoder of ['sharp', '@napi-rs/image'] as const) {
    const most = SIZE.height * SIZE.width;
    const fits = await pixelDecoder('a test', { channels: 3, jpegDecoder, maxPixels: most });
    expect(await fits.decode(bytes)).toMatchObject(SIZE);
    const small = await pixelDecoder('a test', { channels: 3, jpegDecoder, maxPixels: most - 1 });
    await expect(small.decode(bytes)).rejects.toThrow(/maxPixels/);
  }
});
