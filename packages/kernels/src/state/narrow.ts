const LEAST_NORMAL = 2 ** -14;
/** From here on, numbers are rounded to infinity. */
const TOO_LARGE = 65520;

/** The bits of the nearest float16, of two equally near ones the even one. */
export function float16Bits(value: number): number {
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

/** The nearest whole number, of two equally near ones the even one. */
export function nearestEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
}
