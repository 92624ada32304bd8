const { fround } = Math;

/**
 * The values that codes of a packed moment stand for, ascending, between -1 and 1, or 0 and 1: the
 * dynamic type (Dettmers, "8-Bit Approximations for Parallelism in Deep Learning", 2015). Each power of
 * ten has twice as many values as the one below it. Codes of 4 bits without a sign are linear (Li et al.,
 * "Memory Efficient Optimizers with 4-bit States", 2023). Values without a sign have no 0, because
 * updates are divided by their roots: the lowest is half of the next. The bits of all other values are
 * torchao's.
 */
export function codebookOf(bits: 8 | 4, isSigned: boolean): Float32Array {
  if (bits === 4 && !isSigned) return Float32Array.from({ length: 16 }, (_, code) => (code + 1) / 16);
  const exponents = bits - 1;
  const values = [0, 1];
  for (let i = 0; i < exponents; i++) {
    const power = fround(10 ** (i + 1 - exponents));
    const limits = evenly(2 ** (i + bits - 1 - exponents + (isSigned ? 0 : 1)) + 1);
    for (let k = 1; k < limits.length; k++) {
      const value = fround(power * fround(fround(limits[k - 1]! + limits[k]!) / 2));
      values.push(value);
      if (isSigned) values.push(-value);
    }
  }
  const sorted = Float32Array.from(values).sort();
  if (!isSigned) sorted[0] = sorted[1]! / 2;
  return sorted;
}

/** Numbers from 0.1 to 1, rounded as libtorch's linspace does: the second half is counted from 1. */
function evenly(count: number): number[] {
  const step = fround((1 - fround(0.1)) / (count - 1));
  return Array.from({ length: count }, (_, i) =>
    fround(i < count / 2 ? fround(0.1) + step * i : 1 - step * (count - 1 - i)),
  );
}
