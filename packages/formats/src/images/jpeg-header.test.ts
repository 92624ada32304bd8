import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { isComplete, jpegHeader } from './jpeg-header.js';

const image = () => sharp({ create: { width: 37, height: 21, channels: 3, background: 'red' } });

describe('jpegHeader', () => {
  it.each([
    ['baseline', {}],
    ['progressive', { progressive: true }],
    ['optimised', { mozjpeg: true }],
  ])('reads the size of %s files, also behind metadata', async (_, options) => {
    const plain = await image().jpeg(options).toBuffer();
    const exif = await image().jpeg(options).withMetadata({ density: 300 }).toBuffer();
    for (const bytes of [plain, exif]) {
      expect(jpegHeader(bytes)).toMatchObject({ height: 21, width: 37, components: 3 });
    }
    for (const end of [0, 3, 20]) expect(jpegHeader(plain.subarray(0, end))).toBeUndefined();
  });

  it('tells complete files from those that are cut off', async () => {
    const bytes = await image().jpeg().toBuffer();
    const header = jpegHeader(bytes)!;
    const more = Buffer.concat([bytes, Buffer.alloc(9)]);
    expect([isComplete(bytes, header), isComplete(more, header)]).toEqual([true, true]);
    expect(isComplete(bytes.subarray(0, -1), header)).toBe(false);
  });

  it('leaves other files to sharp', async () => {
    expect(jpegHeader(await image().png().toBuffer())).toBeUndefined();
    expect(jpegHeader(Uint8Array.of(0xff, 0xd8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10))).toBeUndefined();
  });
});
