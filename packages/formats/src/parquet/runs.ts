/** Numbers in the hybrid of run lengths and bit-packing (Parquet's encoding RLE). */
export interface Runs {
  /** Where they lie in the page. */
  readonly from: number;
  readonly to: number;
  /** The bits of a number. */
  readonly width: number;
  readonly count: number;
}

/** Writers may fill a bit-packed run up. */
const MAX_FILLED = 512;

/**
 * Checks that the runs have as many numbers as they should. The library repeats a number as often as
 * a run says, whatever was asked for.
 *
 * @returns How many of the numbers are `wanted`.
 * @throws RangeError
 */
export function checkRuns(page: Uint8Array, { from, to, width, count }: Runs, wanted: number): number {
  if (width > 32) throw new RangeError(`numbers of ${width} bits are stated`);
  let equal = 0;
  let at = from;
  for (let seen = 0; seen < count;) {
    const head = varint(page, at, to);
    at = head.at;
    const left = count - seen;
    const values = head.value & 1 ? (head.value >>> 1) * 8 : head.value >>> 1;
    if (values > left + (head.value & 1 ? MAX_FILLED : 0)) {
      throw new RangeError(`a run has ${values} values, and ${left} are left`);
    }
    if (head.value & 1) {
      const packed = { from: at, to, width, count: Math.min(values, left) };
      equal += countPacked(page, packed, wanted);
      at += (values / 8) * width;
    } else {
      let value = 0;
      for (let byte = 0; byte * 8 < width; byte++) value |= page[at++]! << (8 * byte);
      if (at > to) throw new RangeError('runs are cut off');
      if (value >>> 0 === wanted) equal += values;
    }
    seen += values;
  }
  return equal;
}

function countPacked(page: Uint8Array, { from, to, width, count }: Runs, wanted: number): number {
  if (from + Math.ceil((count * width) / 8) > to) throw new RangeError('a bit-packed run is cut off');
  // Only levels are counted, which have few bits.
  if (wanted < 0) return 0;
  if (width === 0) return wanted === 0 ? count : 0;
  const mask = 2 ** width - 1;
  let equal = 0;
  let bits = 0;
  let held = 0;
  for (let i = 0, at = from; i < count; i++) {
    while (held < width) {
      bits |= page[at++]! << held;
      held += 8;
    }
    if ((bits & mask) === wanted) equal++;
    bits >>>= width;
    held -= width;
  }
  return equal;
}

/** A number of at most 32 bits. */
export function varint(page: Uint8Array, at: number, to: number): { value: number; at: number } {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    if (at >= to) throw new RangeError('a number is cut off');
    const byte = page[at++]!;
    value += (byte & 127) * 2 ** shift;
    if (byte < 128 && value < 2 ** 32) return { value, at };
  }
  throw new RangeError(`the number before byte ${at} has more than 32 bits`);
}
