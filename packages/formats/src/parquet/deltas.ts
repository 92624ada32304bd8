import { varint } from './runs.js';

/** The largest block that is read. Writers use 128 values or 1024. */
const MAX_BLOCK = 2 ** 16;

interface Block {
  readonly miniblocks: number;
  /** The number of values in a miniblock. */
  readonly values: number;
  readonly first: number;
  readonly at: number;
}

/** The header of DELTA_BINARY_PACKED. @throws RangeError */
export function deltaHeader(page: Uint8Array, from: number, count: number): Block {
  const block = varint(page, from, page.length);
  const miniblocks = varint(page, block.at, page.length);
  const total = varint(page, miniblocks.at, page.length);
  const values = block.value / miniblocks.value;
  if (!(block.value > 0 && block.value <= MAX_BLOCK && Number.isInteger(values) && values % 8 === 0)) {
    throw new RangeError(`a block of ${block.value} deltas in ${miniblocks.value} parts is stated`);
  }
  if (total.value !== count)
    throw new RangeError(`${total.value} deltas are stated, and ${count} are needed`);
  // The first value may have 64 bits. Only lengths, which have fewer, are read on.
  let at = total.at;
  let first = 0;
  for (let shift = 0; ; shift += 7) {
    if (at >= page.length || shift > 63) throw new RangeError('a first value is cut off');
    const byte = page[at++]!;
    first += (byte & 127) * 2 ** shift;
    if (byte < 128) break;
  }
  return { miniblocks: miniblocks.value, values, first: zigzag(first), at };
}

/** Lengths in DELTA_BINARY_PACKED, and the first byte behind them. @throws RangeError */
export function unpackLengths(page: Uint8Array, from: number, count: number) {
  const header = deltaHeader(page, from, count);
  const lengths = new Int32Array(count);
  let { first: value, at } = header;
  let seen = 0;
  if (count > 0) lengths[seen++] = value;
  while (seen < count) {
    const smallest = varint(page, at, page.length);
    const widths = smallest.at;
    at = widths + header.miniblocks;
    for (let part = 0; part < header.miniblocks && seen < count; part++) {
      const width = page[widths + part] ?? NaN;
      const end = at + (header.values / 8) * width;
      if (!(width <= 32 && end <= page.length)) throw new RangeError('deltas are cut off');
      for (let i = 0; i < header.values && seen < count; i++) {
        value += zigzag(smallest.value) + bitsAt(page, at * 8 + i * width, width);
        lengths[seen++] = value |= 0;
      }
      at = end;
    }
  }
  return { lengths, end: at };
}

function bitsAt(page: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let bit = 0; bit < width;) {
    const place = at + bit;
    const taken = Math.min(8 - (place & 7), width - bit);
    value += ((page[place >>> 3]! >>> (place & 7)) & (2 ** taken - 1)) * 2 ** bit;
    bit += taken;
  }
  return value;
}

const zigzag = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);
