export const WIDTH = 256;
export const CLASSES = 10;

export interface SampleOptions {
  /** How often a sample is decoded, which takes the processor. */
  readonly rounds?: number;
  /** Milliseconds in which a sample is read, which leaves the processor idle. */
  readonly readMs?: number;
}

const DIFFERENT = 500;

/** Noisy waves, whose class is their phase. Worker threads make them, too. */
export default function samples({ rounds = 0, readMs = 0 }: SampleOptions = {}) {
  const all = Array.from({ length: DIFFERENT }, (_, i) => ({
    xs: Float32Array.from(
      { length: WIDTH },
      (__, j) => Math.sin((i % CLASSES) + 0.1 * j) + Math.sin(7.3 * i + j * j),
    ),
    ys: Int32Array.of(i % CLASSES),
  }));
  const make = (i: number) => {
    const { xs, ys } = all[i % DIFFERENT]!;
    if (rounds === 0) return { xs, ys };
    const decoded = xs.slice();
    for (let k = 0; k < rounds * WIDTH; k++) decoded[k % WIDTH]! += 1e-9 * Math.sin(k);
    return { xs: decoded, ys };
  };
  const get = readMs > 0 ? (i: number) => sleep(readMs).then(() => make(i)) : make;
  return { length: 1_000_000, get };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}
