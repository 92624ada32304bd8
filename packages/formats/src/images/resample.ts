import { withPremultiplied } from './alpha.js';
import { pixelKernels, type PixelKernels } from './pixel-kernels.js';
import { MAX_PIXELS, requirePixels, type Box, type ImageExtent, type RawImage } from './raw-image.js';
import { triangleWeights, type Weights } from './weights.js';

/** The settings for resampling an image. */
export interface Resampling {
  /** The new size of the whole image. */
  readonly size: ImageExtent;
  /** The part of the new image that is made. */
  readonly window: Box;
  /** Whether the part is mirrored, left to right. */
  readonly isMirrored: boolean;
  /** The largest number of pixels that are made. */
  readonly maxPixels?: number | undefined;
}

/**
 * Resizes an image by bilinear interpolation with antialiasing. The bytes are those of Pillow's
 * `resize(size, Resampling.BILINEAR)`: rows first, then columns, each rounded to bytes.
 *
 * @throws RangeError if more than `maxPixels` would be made.
 */
export function resample(image: RawImage, how: Resampling): RawImage {
  if (image.channels === 4) return withPremultiplied(image, (colours) => resampleChannels(colours, how));
  return resampleChannels(image, how);
}

function resampleChannels(image: RawImage, how: Resampling): RawImage {
  const { size, window, isMirrored, maxPixels = MAX_PIXELS } = how;
  const { height, width, channels } = image;
  const { top, left } = window;
  requirePixels('the resized image', window, maxPixels);
  const down = triangleWeights(height, size.height, { start: top, count: window.height, isMirrored: false });
  const columns = triangleWeights(width, size.width, { start: left, count: window.width, isMirrored });
  // Only rows that the window depends on are read.
  const first = down.starts[0]!;
  const read = down.starts.at(-1)! + down.counts.at(-1)! - first;
  requirePixels('the image with its new width', { height: read, width: window.width }, maxPixels);
  const rows = { ...down, starts: down.starts.map((start) => start - first) };
  const bytes = image.data.subarray(first * width * channels, (first + read) * width * channels);
  const kernels = pixelKernels();
  const rowBytes = window.width * channels;
  const [from, between, to, ...tables] = kernels.areas(
    bytes.length,
    read * rowBytes,
    window.height * rowBytes,
    ...areasOf(columns),
    ...areasOf(rows),
  ) as [number, number, number, ...number[]];
  kernels.put(from, bytes);
  const acrossTables = putWeights(kernels, tables.slice(0, 3), columns);
  const downTables = putWeights(kernels, tables.slice(3), rows);
  kernels.horizontal(from, width, read, channels, ...acrossTables, window.width, between);
  kernels.vertical(between, rowBytes, ...downTables, window.height, to);
  const data = new Uint8Array(kernels.buffer, to, window.height * rowBytes).slice();
  return { data, height: window.height, width: window.width, channels };
}

function areasOf({ starts, counts, weights }: Weights): number[] {
  return [starts, counts, weights].map(({ byteLength }) => byteLength);
}

function putWeights(
  kernels: PixelKernels,
  places: readonly number[],
  { starts, counts, weights, taps }: Weights,
): [number, number, number, number] {
  [starts, counts, weights].forEach((table, i) => kernels.put(places[i]!, table));
  return [places[0]!, places[1]!, places[2]!, taps];
}
