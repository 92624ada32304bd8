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
