import type { PlainHook } from './plain-hook.js';

/** The bits after the point and the smallest normal exponent of the two dtypes. */
const FORMATS = { fp16: { bits: 10, least: -14 }, bf16: { bits: 7, least: -126 } };

export type Format = keyof typeof FORMATS;

/** The relative distance of neighbouring numbers. */
export const spacing = (format: Format) => 2 ** -FORMATS[format].bits;

/** Rounds to the nearest number of the dtype, and ties to even. */
export function rounded(x: number, format: Format): number {
  if (x === 0) return x;
  const { bits, least } = FORMATS[format];
  const unit = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), least) - bits);
  const [steps, floor] = [x / unit, Math.floor(x / unit)];
  const isUp = steps - floor > 0.5 || (steps - floor === 0.5 && floor % 2 !== 0);
  return (isUp ? floor + 1 : floor) * unit;
}

/**
 * Each rank's part of the mean is rounded, and then their sum. One rank sends nothing, so it does
 * not round.
 */
export function plainCast(format: Format, size: number): PlainHook {
  return (_step, grads) => {
    const part = Math.fround(1 / size);
    const own = grads.map((ofRank) =>
      ofRank.map((grad) => grad.map((x) => (size === 1 ? x : rounded(Math.fround(x * part), format)))),
    );
    const sums = own[0]!.map((first, variable) =>
      first.map((_, i) => {
        const sum = own.reduce((total, ofRank) => Math.fround(total + ofRank[variable]![i]!), 0);
        return size === 1 ? sum : rounded(sum, format);
      }),
    );
    return { grads: sums, shared: {}, local: [] };
  };
}
