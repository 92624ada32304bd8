import { randomBelow, uniform, type RandomWords } from '../order/random.js';
import type { Box, ImageExtent } from '../images/raw-image.js';
import type { PixelPlan } from './options.js';

/** How many times a part is drawn before the largest one at the centre is taken. */
const ATTEMPTS = 10;

/**
 * A random part with a share of the area in `scale` and a ratio of width to height in `ratio`, both
 * ends included. The logarithm of the ratio is uniformly distributed. If no part fits, the largest
 * one at the centre whose ratio is allowed.
 */
export function randomPart(
  { height, width }: ImageExtent,
  { scale, ratio }: NonNullable<PixelPlan['resized']>,
  draw: RandomWords,
): Box {
  const between = (low: number, high: number) => low + (high - low) * uniform(draw);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const area = height * width * between(...scale);
    const aspect = Math.exp(between(Math.log(ratio[0]), Math.log(ratio[1])));
    const part = {
      width: Math.round(Math.sqrt(area * aspect)),
      height: Math.round(Math.sqrt(area / aspect)),
    };
    if (part.width < 1 || part.height < 1 || part.width > width || part.height > height) continue;
    const top = randomBelow(draw, height - part.height + 1);
    return { ...part, top, left: randomBelow(draw, width - part.width + 1) };
  }
  const aspect = Math.min(Math.max(width / height, ratio[0]), ratio[1]);
  return centre(
    { height, width },
    {
      width: Math.max(Math.min(width, Math.round(height * aspect)), 1),
      height: Math.max(Math.min(height, Math.round(width / aspect)), 1),
    },
  );
}

/** The part of this size at the centre. Where it cannot be exact, it is rounded as by torchvision. */
export function centre(image: ImageExtent, part: ImageExtent): Box {
  return {
    ...part,
    top: Math.round((image.height - part.height) / 2),
    left: Math.round((image.width - part.width) / 2),
  };
}

/** A part of this size at a random place, of an image with `padding` more pixels on every side. */
export function randomPlace(image: ImageExtent, part: ImageExtent, padding: number, draw: RandomWords): Box {
  const top = randomBelow(draw, image.height + 2 * padding - part.height + 1) - padding;
  return { ...part, top, left: randomBelow(draw, image.width + 2 * padding - part.width + 1) - padding };
}
