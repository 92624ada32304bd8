import { shaped, shapedLater, type ShapedArray } from '../../shaped-array.js';
import type { Box, ImageExtent } from './crop-box.js';
import type { PixelPlan } from './options.js';

/** Decoded pixels: bytes `[height, width, channels]`. */
export interface RawImage extends ImageExtent {
  readonly data: Uint8Array;
  readonly channels: number;
}

/** What becomes of each byte of a pixel. */
export interface PixelValues {
  readonly channels: PixelPlan['channels'];
  /** The 256 values of each channel, one table after the other. Undefined: the bytes themselves. */
  readonly table: Float32Array | undefined;
}

export function pixelValues({ channels, dtype, mean, std }: PixelPlan): PixelValues {
  if (dtype === 'uint8') return { channels, table: undefined };
  const table = new Float32Array(256 * channels);
  for (let channel = 0; channel < channels; channel++) {
    for (let byte = 0; byte < 256; byte++) {
      table[256 * channel + byte] = (byte / 255 - mean[channel]!) / std[channel]!;
    }
  }
  return { channels, table };
}

/**
 * Takes a part of an image. Pixels outside of the image are black. The bytes are taken at once, and
 * become values when they are written.
 *
 * @param image Its data may be changed.
 * @returns `[box.height, box.width, channels]`
 */
export function takePixels(
  image: RawImage,
  box: Box,
  isFlipped: boolean,
  { channels, table }: PixelValues,
): ShapedArray {
  const bytes = partOf(channels === 1 ? lumaOf(image) : image, box);
  if (isFlipped) flipRows(bytes, box.width, channels);
  const shape = [box.height, box.width, channels];
  if (!table) return shaped(bytes, shape);
  const write = (block: Float32Array | Int32Array, offset: number) => {
    if (channels === 3) writeColours(bytes, table, block, offset);
    else for (let i = 0; i < bytes.length; i++) block[offset + i] = table[256 * (i % channels) + bytes[i]!]!;
  };
  return shapedLater(shape, { dtype: 'float32', write });
}

/** The usual case, without an inner loop: half the time. */
function writeColours(
  bytes: Uint8Array,
  table: Float32Array,
  block: Float32Array | Int32Array,
  offset: number,
): void {
  for (let i = 0, to = offset; i < bytes.length; i += 3, to += 3) {
    block[to] = table[bytes[i]!]!;
    block[to + 1] = table[256 + bytes[i + 1]!]!;
    block[to + 2] = table[512 + bytes[i + 2]!]!;
  }
}

/** The bytes of a part of an image: memory of its own, except for the whole image. */
function partOf({ data, height, width, channels }: RawImage, box: Box): Uint8Array {
  if (box.height === height && box.width === width && box.top === 0 && box.left === 0) return data;
  const part = new Uint8Array(box.height * box.width * channels);
  const [left, right] = [Math.max(box.left, 0), Math.min(box.left + box.width, width)];
  const end = Math.min(box.top + box.height, height);
  for (let y = Math.max(box.top, 0); y < end && left < right; y++) {
    const row = data.subarray((y * width + left) * channels, (y * width + right) * channels);
    part.set(row, ((y - box.top) * box.width + left - box.left) * channels);
  }
  return part;
}

/** Mirrors every row in place. */
function flipRows(bytes: Uint8Array, width: number, channels: number): void {
  const rowBytes = width * channels;
  for (let start = 0; start < bytes.length; start += rowBytes) {
    for (let i = start, j = start + rowBytes - channels; i < j; i += channels, j -= channels) {
      for (let channel = 0; channel < channels; channel++) {
        const moved = bytes[i + channel]!;
        bytes[i + channel] = bytes[j + channel]!;
        bytes[j + channel] = moved;
      }
    }
  }
}

/** Luma by ITU-R BT.601 in 16 bits of fraction, rounded to the nearest: the numbers of Pillow. */
function lumaOf({ data, height, width }: RawImage): RawImage {
  const luma = new Uint8Array(height * width);
  for (let i = 0, at = 0; i < luma.length; i++, at += 3) {
    luma[i] = (data[at]! * 19595 + data[at + 1]! * 38470 + data[at + 2]! * 7471 + 0x8000) >> 16;
  }
  return { data: luma, height, width, channels: 1 };
}
