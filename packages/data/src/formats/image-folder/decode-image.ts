import type { Sharp } from 'sharp';
import type { SampleDraw } from '../../sample-source.js';
import { sampleWords, uniform, type RandomWords } from '../../random.js';
import type { ShapedArray } from '../../shaped-array.js';
import { centre, randomPart, randomPlace, type Box } from './crop-box.js';
import { jpegExtent } from './jpeg-extent.js';
import type { PixelPlan } from './options.js';
import { takePixels, type PixelValues, type RawImage } from './pixels.js';

export interface ImageFile {
  readonly bytes: Uint8Array;
  /** A new pipeline that reads the bytes. */
  readonly open: () => Sharp;
}

/** The pixels of a file, `[height, width, channels]`. */
export async function decodeImage(
  { open, bytes }: ImageFile,
  { plan, values }: { plan: PixelPlan; values: PixelValues },
  words: () => RandomWords,
): Promise<ShapedArray> {
  // Without augmentation nothing is drawn.
  const draw = plan.resized || plan.padding !== undefined || plan.flip > 0 ? words() : () => 0;
  const pipeline = await resized({ open, bytes }, plan, draw);
  const withAlpha = plan.channels === 4 ? pipeline.ensureAlpha() : pipeline.removeAlpha();
  const { data, info } = await withAlpha.toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
  const image = { data, height: info.height, width: info.width, channels: info.channels };
  const box = boxOf(image, plan, draw);
  const isFlipped = plan.flip > 0 && uniform(draw) < plan.flip;
  return takePixels(image, box, isFlipped, values);
}

/** The pipeline up to the size before `crop`. */
async function resized({ open, bytes }: ImageFile, plan: PixelPlan, draw: RandomWords): Promise<Sharp> {
  const { resized: ranges, resize, crop } = plan;
  // Decoders may shrink JPEG and WebP only to twice the wanted size: below that, the result would
  // differ much from that of interpolation.
  const how = { kernel: 'linear', fastShrinkOnLoad: false } as const;
  if (ranges) {
    const { height, width } = jpegExtent(bytes) ?? (await open().metadata());
    const part = randomPart({ height, width }, ranges, draw);
    return open()
      .extract(part)
      .resize({ height: crop![0], width: crop![1], fit: 'fill', ...how });
  }
  if (resize === undefined) return open();
  const [height, width] = typeof resize === 'number' ? [resize, resize] : resize;
  return open().resize({ height, width, fit: typeof resize === 'number' ? 'outside' : 'fill', ...how });
}

function boxOf(image: RawImage, { crop, padding }: PixelPlan, draw: RandomWords): Box {
  const { height, width } = image;
  if (!crop) return { top: 0, left: 0, height, width };
  const part = { height: crop[0], width: crop[1] };
  const more = 2 * (padding ?? 0);
  if (height + more < part.height || width + more < part.width) {
    throw new RangeError(
      `it has ${height} × ${width} pixels, which is too small for a crop of ${part.height} × ${part.width}`,
    );
  }
  return padding === undefined ? centre(image, part) : randomPlace(image, part, padding, draw);
}

/** The random numbers of a sample. */
export function wordsOf({ seed, epoch }: SampleDraw, i: number): () => RandomWords {
  return () => sampleWords(seed, epoch, i);
}
