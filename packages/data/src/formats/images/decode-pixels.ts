import { loadSharp } from './load-sharp.js';
import { jpegExtent } from './jpeg-extent.js';
import type { Box, ImageExtent, RawImage } from './raw-image.js';

/** 3: RGB, alpha is dropped. 4: RGBA. 1: luma. */
export type Channels = 1 | 3 | 4;

/** Decodes encoded images of all formats that sharp reads. */
export interface PixelDecoder {
  /** The size of an image. */
  extentOf(bytes: Uint8Array): Promise<ImageExtent>;
  /** @param part What is decoded. Default: the whole image. */
  decode(bytes: Uint8Array, part?: Box): Promise<RawImage>;
}

/**
 * Colour profiles and orientation tags are ignored.
 *
 * @param what What needs sharp, for the message.
 * @throws AccError `ACC_DATA_PACKAGE`.
 */
export async function pixelDecoder(what: string, channels: Channels): Promise<PixelDecoder> {
  const sharp = await loadSharp(what);
  const open = (bytes: Uint8Array) => sharp(bytes, { ignoreIcc: true });
  return {
    extentOf: async (bytes) => jpegExtent(bytes) ?? (await open(bytes).metadata()),
    async decode(bytes, part) {
      const pipeline = part ? open(bytes).extract(part) : open(bytes);
      const withAlpha = channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
      const { data, info } = await withAlpha
        .toColourspace('srgb')
        .raw()
        .toBuffer({ resolveWithObject: true });
      // A Buffer is no plain value of a sample.
      const plain = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      const image = { data: plain, height: info.height, width: info.width, channels: info.channels };
      return channels === 1 ? lumaOf(image) : image;
    },
  };
}

/** Luma by ITU-R BT.601 in 16 bits of fraction, rounded to the nearest: the numbers of Pillow. */
function lumaOf({ data, height, width }: RawImage): RawImage {
  const luma = new Uint8Array(height * width);
  for (let i = 0, at = 0; i < luma.length; i++, at += 3) {
    luma[i] = (data[at]! * 19595 + data[at + 1]! * 38470 + data[at + 2]! * 7471 + 0x8000) >> 16;
  }
  return { data: luma, height, width, channels: 1 };
}
