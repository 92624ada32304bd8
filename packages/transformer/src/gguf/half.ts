const known: { values?: Float32Array } = {};

/** The values of all float16 numbers, by their bits. */
export function halfValues(): Float32Array {
  return (known.values ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => valueOf(bits)));
}

function valueOf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const LEAST_NORMAL = 2 ** -14;
/** From here on, numbers are rounded to infinity. */
const TOO_LARGE = 65520;

/** The bits of the nearest float16, of two equally near ones the even one. */
export function halfBits(value: number): number {
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= TOO_LARGE) return sign | 0x7c00;
  // The bits of consecutive float16 numbers are consecutive, also where the exponent changes.
  if (magnitude < LEAST_NORMAL) return sign | nearestEven(magnitude * 2 ** 24);
  const exponent = exponentOf(magnitude);
  return sign + ((exponent + 14) << 10) + nearestEven(magnitude * 2 ** (10 - exponent));
}

function exponentOf(magnitude: number): number {
  let exponent = Math.floor(Math.log2(magnitude));
  // Logarithms are rounded.
  if (2 ** exponent > magnitude) exponent--;
  else if (2 ** (exponent + 1) <= magnitude) exponent++;
  return exponent;
}

function nearestEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
}
