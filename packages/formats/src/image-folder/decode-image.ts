import type { SampleDraw } from '../samples/indexed-dataset.js';
import { sampleWords, uniform, type RandomWords } from '../order/random.js';
import type { ShapedArray } from '../samples/shaped-array.js';
import type { PixelDecoder } from '../images/decode-pixels.js';
import { takePixels, type PixelValues } from '../images/pixels.js';
import { fullImageBox, type Box, type ImageExtent } from '../images/raw-image.js';
import { resample } from '../images/resample.js';
import { centre, randomPart, randomPlace } from './crop-box.js';
import type { ImageSize, PixelPlan } from './options.js';

/** How files become pixels. */
export interface ImageReader {
  readonly decoder: PixelDecoder;
  readonly plan: PixelPlan;
  readonly values: PixelValues;
}

/** The pixels of a file, `[height, width, channels]`. */
export function decodeImage(
  bytes: Uint8Array,
  reader: ImageReader,
  words: () => RandomWords,
): Promise<ShapedArray> {
  const { plan } = reader;
  // Without augmentation nothing is drawn.
  const draw = plan.resized || plan.padding !== undefined || plan.flip > 0 ? words() : () => 0;
  return plan.resized ? randomlyResized(bytes, reader, draw) : cropped(bytes, reader, draw);
}

async function randomlyResized(
  bytes: Uint8Array,
  { decoder, plan, values }: ImageReader,
  draw: RandomWords,
): Promise<ShapedArray> {
  const { maxPixels } = plan;
  const part = randomPart(await decoder.extentOf(bytes), plan.resized!, draw);
  const [height, width] = plan.crop!;
  const window = fullImageBox({ height, width });
  const isMirrored = isFlipped(plan, draw);
  const image = await decoder.decode(bytes, part);
  return takePixels(resample(image, { size: window, window, isMirrored, maxPixels }), window, false, values);
}

async function cropped(
  bytes: Uint8Array,
  { decoder, plan, values }: ImageReader,
  draw: RandomWords,
): Promise<ShapedArray> {
  const image = await decoder.decode(bytes);
  const { maxPixels } = plan;
  const size = plan.resize === undefined ? image : sizeOf(image, plan.resize);
  const box = boxOf(size, plan, draw);
  const isMirrored = isFlipped(plan, draw);
  if (plan.resize === undefined) return takePixels(image, box, isMirrored, values);
  if (!isWithin(box, size)) {
    const resized = resample(image, { size, window: fullImageBox(size), isMirrored: false, maxPixels });
    return takePixels(resized, box, isMirrored, values);
  }
  const resized = resample(image, { size, window: box, isMirrored, maxPixels });
  return takePixels(resized, fullImageBox(box), false, values);
}

/** Rounded as by torchvision. */
function sizeOf({ height, width }: ImageExtent, resize: ImageSize): ImageExtent {
  if (typeof resize !== 'number') return { height: resize[0], width: resize[1] };
  const longer = (short: number, long: number) => Math.trunc((resize * long) / short);
  return height <= width
    ? { height: resize, width: longer(height, width) }
    : { height: longer(width, height), width: resize };
}

function isWithin({ top, left, height, width }: Box, image: ImageExtent): boolean {
  return top >= 0 && left >= 0 && top + height <= image.height && left + width <= image.width;
}

function isFlipped({ flip }: PixelPlan, draw: RandomWords): boolean {
  return flip > 0 && uniform(draw) < flip;
}

function boxOf(image: ImageExtent, { crop, padding }: PixelPlan, draw: RandomWords): Box {
  const { height, width } = image;
  if (!crop) return fullImageBox(image);
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
