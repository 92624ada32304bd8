import { shaped, shapedLater, type ShapedArray } from '../samples/shaped-array.js';
import type { Channels } from './decode-pixels.js';
import { pixelKernels } from './pixel-kernels.js';
import type { Box, RawImage } from './raw-image.js';

/** The conversion of each byte of a pixel. */
export interface PixelValues {
  readonly channels: Channels;
  /** The 256 values of each channel, one table after the other. Undefined: the bytes themselves. */
  readonly table: Float32Array | undefined;
}

/** The options of image folders that apply to values. */
interface ValueOptions {
  readonly channels: Channels;
  readonly dtype: 'float32' | 'uint8';
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

export function pixelValues({ channels, dtype, mean, std }: ValueOptions): PixelValues {
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
  const bytes = partOf(image, box);
  if (isFlipped) flipRows(bytes, box.width, channels);
  const shape = [box.height, box.width, channels];
  if (!table) return shaped(bytes, shape);
  const write = (block: Float32Array | Int32Array, offset: number) =>
    block.set(valuesOf(bytes, table), offset);
  return shapedLater(shape, { dtype: 'float32', write });
}

/** The values of bytes, until the next call. */
function valuesOf(bytes: Uint8Array, table: Float32Array): Float32Array {
  const kernels = pixelKernels();
  const [from, tableAt, to] = kernels.areas(bytes.length, table.byteLength, 4 * bytes.length) as Three;
  kernels.put(from, bytes);
  kernels.put(tableAt, table);
  kernels.lookUp(from, bytes.length, table.length / 256, tableAt, to);
  return new Float32Array(kernels.buffer, to, bytes.length);
}

type Three = [number, number, number];

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
