/** A whole number from 0 to `end` - 1, drawn uniformly by the system's generator. */
export function randomBelow(end: number): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return Math.floor(fraction53(high!, low!) * end);
}

/** A number from 0 (inclusive) to 1 (exclusive), made of 53 bits of two unsigned 32-bit words. */
export function fraction53(high: number, low: number): number {
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

/** `bytes` random bytes of the system's generator, as hexadecimal digits. */
export function randomHex(bytes: number): string {
  const drawn = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(drawn, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
