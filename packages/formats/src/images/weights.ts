/** How the pixels of one axis become those of another size. */
export interface Weights {
  /** The first pixel that each new pixel depends on, and their number. */
  readonly starts: Int32Array;
  readonly counts: Int32Array;
  /** `taps` weights for each new pixel, whose sum is 1, times 2^22. */
  readonly weights: Int32Array;
  readonly taps: number;
}

/** A range of the new pixels. */
export interface AxisWindow {
  readonly start: number;
  readonly count: number;
  /** Whether the range is in reverse order. */
  readonly isMirrored: boolean;
}

const ONE = 2 ** 22;

/**
 * The weights of bilinear interpolation with antialiasing: a triangle, which is as wide as the new
 * pixel if the axis becomes shorter. These are the numbers of Pillow (`Resampling.BILINEAR`,
 * libImaging/Resample.c), so that results are equal.
 */
export function triangleWeights(from: number, to: number, { start, count, isMirrored }: AxisWindow): Weights {
  const scale = from / to;
  const radius = Math.max(scale, 1);
  const taps = Math.ceil(radius) * 2 + 1;
  const starts = new Int32Array(count);
  const counts = new Int32Array(count);
  const weights = new Int32Array(count * taps);
  const exact = new Float64Array(taps);
  for (let i = 0; i < count; i++) {
    const place = start + (isMirrored ? count - 1 - i : i);
    const centre = (place + 0.5) * scale;
    const first = Math.max(Math.trunc(centre - radius + 0.5), 0);
    const pixels = Math.min(Math.trunc(centre + radius + 0.5), from) - first;
    let sum = 0;
    for (let tap = 0; tap < pixels; tap++) {
      const distance = Math.abs((tap + first - centre + 0.5) * (1 / radius));
      sum += exact[tap] = Math.max(1 - distance, 0);
    }
    for (let tap = 0; tap < pixels; tap++)
      weights[i * taps + tap] = Math.trunc(0.5 + (exact[tap]! / sum) * ONE);
    starts[i] = first;
    counts[i] = pixels;
  }
  return { starts, counts, weights, taps };
}
