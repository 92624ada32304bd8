/**
 * Checks that a block of LZ4 becomes so many bytes. The library leaves what is missing zero.
 *
 * @throws RangeError
 */
export function checkLz4(block: Uint8Array, bytes: number): void {
  let done = 0;
  let at = 0;
  const extended = (length: number): number => {
    if (length !== 15) return length;
    for (let byte = 255; byte === 255; length += byte) byte = block[at++] ?? NaN;
    return length;
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = extended(token >> 4);
    at += literals;
    done += literals;
    if (at === block.length) break;
    const distance = block[at]! + 256 * (block[at + 1] ?? NaN);
    at += 2;
    if (!(distance > 0 && distance <= done)) throw new RangeError(`a match lies ${distance} bytes back`);
    done += extended(token & 15) + 4;
  }
  if (at !== block.length || done !== bytes)
    throw new RangeError(`a page becomes ${done} bytes, not ${bytes}`);
}
