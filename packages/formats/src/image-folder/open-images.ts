import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AccError } from '@acc/contract';
import type { IndexedDataset, SampleDraw } from '../samples/indexed-dataset.js';
import { shaped, type ShapedArray } from '../samples/shaped-array.js';
import { pixelDecoder } from '../images/decode-pixels.js';
import { pixelValues } from '../images/pixels.js';
import { decodeImage, wordsOf } from './decode-image.js';
import type { PixelPlan } from './options.js';
import { pathReader, type SharedPaths } from './shared-paths.js';

export interface ImageSample {
  /** `[height, width, channels]` */
  readonly image: ShapedArray;
  /** The number of the class, int32, `[]`. */
  readonly label: ShapedArray;
}

/** The data that a thread needs to read the images of a folder: plain values and shared memory. */
export interface OpenedFolder {
  readonly folder: string;
  readonly paths: SharedPaths;
  /** int32 */
  readonly labels: SharedArrayBuffer;
  readonly pixels: PixelPlan;
}

/** Images by number. */
export interface OpenedImages extends IndexedDataset<ImageSample> {
  get(i: number, draw: SampleDraw): Promise<ImageSample>;
  /** The path of image `i`. */
  nameOf(i: number): string;
}

/** The images of a folder that was listed. */
export async function openImages(opened: OpenedFolder): Promise<OpenedImages> {
  const decoder = await pixelDecoder('imageFolder', opened.pixels);
  const labels = new Int32Array(opened.labels);
  const pathOf = pathReader(opened.paths);
  const nameOf = (i: number) => join(opened.folder, pathOf(i));
  const reader = { decoder, plan: opened.pixels, values: pixelValues(opened.pixels) };
  return {
    length: labels.length,
    nameOf,
    async get(i, draw) {
      const path = nameOf(i);
      try {
        // libvips caches files by name, and would not notice that one has changed. Bytes are not cached.
        const bytes = await readFile(path);
        const image = await decodeImage(bytes, reader, wordsOf(draw, i));
        return { image, label: shaped(labels.slice(i, i + 1), []) };
      } catch (cause) {
        throw new AccError(
          'ACC_DATA_SAMPLE',
          `Sample ${i} (${path}) cannot be read as an image: ${(cause as Error).message}.`,
          { help: 'Remove or replace the file.', cause, details: { index: i, name: path } },
        );
      }
    },
  };
}
