import * as z from 'zod';
import { jpegHeader } from './jpeg-header.js';
import { loadSharp } from './load-sharp.js';
import { zuneDecoder } from './zune-decoder.js';
import { MAX_PIXELS, requirePixels, type Box, type ImageExtent, type RawImage } from './raw-image.js';

/** 3: RGB, alpha is dropped. 4: RGBA. 1: luma. */
export type Channels = 1 | 3 | 4;

/** The decoder of JPEG files: sharp, or the faster one of the package `@napi-rs/image`. */
export type JpegDecoder = z.infer<typeof jpegDecoder>;

/** The schema of the option. */
export const jpegDecoder = z.enum(['sharp', '@napi-rs/image']).default('sharp');

/** The schema of the option. */
export const maxPixels = z.int().positive().default(MAX_PIXELS);

export interface DecoderOptions {
  readonly channels: Channels;
  readonly jpegDecoder: JpegDecoder;
  /** The largest number of pixels of an image, before and after it is resized. */
  readonly maxPixels: number;
}

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
export async function pixelDecoder(what: string, options: DecoderOptions): Promise<PixelDecoder> {
  const { channels, jpegDecoder } = options;
  const decoder = await sharpDecoder(what, options);
  if (jpegDecoder === 'sharp') return decoder;
  const decode = await zuneDecoder();
  return {
    ...decoder,
    async decode(bytes, part) {
      requireSize(bytes, options.maxPixels);
      const image = await decode(bytes, part);
      return image ? fromColours(image, channels) : decoder.decode(bytes, part);
    },
  };
}

/** JPEG files say their size at once. libvips checks that of other files. */
function requireSize(bytes: Uint8Array, maxPixels: number): void {
  const header = jpegHeader(bytes);
  if (header) requirePixels('it', header, maxPixels);
}

async function sharpDecoder(
  what: string,
  { channels, maxPixels: limitInputPixels }: DecoderOptions,
): Promise<PixelDecoder> {
  const sharp = await loadSharp(what);
  const open = (bytes: Uint8Array) => sharp(bytes, { ignoreIcc: true, limitInputPixels });
  return {
    extentOf: async (bytes) => jpegHeader(bytes) ?? (await open(bytes).metadata()),
    async decode(bytes, part) {
      requireSize(bytes, limitInputPixels);
      const pipeline = part ? open(bytes).extract(part) : open(bytes);
      const withAlpha = channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
      const { data, info } = await withAlpha
        .toColourspace('srgb')
        .raw()
        .toBuffer({ resolveWithObject: true })
        .catch((cause: Error) => {
          if (!cause.message.includes('pixel limit')) throw cause;
          const what = `it has more pixels than the option maxPixels (${limitInputPixels})`;
          throw new RangeError(what, { cause });
        });
      // A Buffer is no plain value of a sample.
      const plain = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
      const image = { data: plain, height: info.height, width: info.width, channels: info.channels };
      return channels === 1 ? lumaOf(image) : image;
    },
  };
}

function fromColours(image: RawImage, channels: Channels): RawImage {
  if (channels === 3) return image;
  return channels === 1 ? lumaOf(image) : opaque(image);
}

function opaque({ data, height, width }: RawImage): RawImage {
  const pixels = new Uint8Array(4 * height * width).fill(255);
  for (let from = 0, to = 0; from < data.length; from += 3, to += 4) {
    for (let channel = 0; channel < 3; channel++) pixels[to + channel] = data[from + channel]!;
  }
  return { data: pixels, height, width, channels: 4 };
}

/** Luma by ITU-R BT.601 in 16 bits of fraction, rounded to the nearest: the numbers of Pillow. */
function lumaOf({ data, height, width }: RawImage): RawImage {
  const luma = new Uint8Array(height * width);
  for (let i = 0, at = 0; i < luma.length; i++, at += 3) {
    luma[i] = (data[at]! * 19595 + data[at + 1]! * 38470 + data[at + 2]! * 7471 + 0x8000) >> 16;
  }
  return { data: luma, height, width, channels: 1 };
}
