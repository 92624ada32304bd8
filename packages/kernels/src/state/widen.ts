/** Converts the bits of bfloat16 values to float32. bfloat16 is the upper half of float32. */
export function widenBfloat16(bits: Uint16Array): Float32Array {
  const wide = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) wide[i] = bits[i]! << 16;
  return new Float32Array(wide.buffer);
}

/**
 * Converts the bits of IEEE 754 binary16 values to float32: 1 sign, 5 exponent and 10 fraction
 * bits.
 */
export function widenFloat16(bits: Uint16Array): Float32Array {
  return Float32Array.from(bits, (value) => {
    const sign = value & 0x8000 ? -1 : 1;
    const exponent = (value >> 10) & 0x1f;
    const fraction = value & 0x3ff;
    if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
    return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}
