import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { jpegExtent } from './jpeg-extent.js';

const image = () => sharp({ create: { width: 37, height: 21, channels: 3, background: 'red' } });

describe('jpegExtent', () => {
  it.each([
    ['baseline', {}],
    ['progressive', { progressive: true }],
    ['optimised', { mozjpeg: true }],
  ])('reads the size of %s files, also behind metadata', async (_, options) => {
    const plain = await image().jpeg(options).toBuffer();
    const exif = await image().jpeg(options).withMetadata({ density: 300 }).toBuffer();
    for (const bytes of [plain, exif]) expect(jpegExtent(bytes)).toEqual({ height: 21, width: 37 });
    for (const end of [0, 3, 20]) expect(jpegExtent(plain.subarray(0, end))).toBeUndefined();
  });

  it('leaves other files to sharp', async () => {
    expect(jpegExtent(await image().png().toBuffer())).toBeUndefined();
    expect(jpegExtent(Uint8Array.of(0xff, 0xd8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10))).toBeUndefined();
  });
});
