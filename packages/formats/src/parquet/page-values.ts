import type { Encoding, ParquetType } from 'hyparquet';
import { deltaHeader, unpackLengths } from './deltas.js';
import { checkRuns } from './runs.js';

/** Values in a page without its levels. */
export interface PageValues {
  /** The first byte of the values. They end with the page. */
  readonly from: number;
  /** Without nulls. */
  readonly count: number;
  readonly encoding: Encoding | undefined;
  readonly type: ParquetType;
  /** The size of values of the type FIXED_LEN_BYTE_ARRAY. */
  readonly typeLength: number | undefined;
  /** The largest size of all values together. */
  readonly maxBytes: number;
  readonly hasDictionary: boolean;
}

type Check = (page: Uint8Array, values: PageValues) => void;

/**
 * Checks that a page has as many values as it states.
 *
 * @throws RangeError
 */
export function checkValues(page: Uint8Array, values: PageValues): void {
  const check = values.encoding && CHECKS[values.encoding];
  if (!check) throw new RangeError(`the encoding ${values.encoding} is not supported`);
  if (values.count > 0) check(page, values);
}

const CHECKS: Partial<Readonly<Record<Encoding, Check>>> = {
  PLAIN: checkPlain,
  PLAIN_DICTIONARY: checkIndices,
  RLE_DICTIONARY: checkIndices,
  RLE: checkBooleans,
  BYTE_STREAM_SPLIT: (page, values) => checkFixed(page, values, widthOf(values)),
  DELTA_BINARY_PACKED: (page, { from, count }) => void deltaHeader(page, from, count),
  DELTA_LENGTH_BYTE_ARRAY: checkLengths,
  DELTA_BYTE_ARRAY: checkPrefixes,
};

const WIDTHS: Partial<Readonly<Record<ParquetType, number>>> = {
  ...{ INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8, BOOLEAN: 1 / 8 },
};

function widthOf({ type, typeLength }: PageValues): number {
  const width = WIDTHS[type] ?? typeLength ?? 0;
  if (width > 0) return width;
  throw new RangeError(`values of the type ${type} have ${width} bytes`);
}

function checkFixed(page: Uint8Array, { from, count }: PageValues, width: number): void {
  const needed = Math.ceil(count * width);
  if (needed <= page.length - from) return;
  throw new RangeError(`${count} values need ${needed} bytes, and a page has ${page.length - from}`);
}

function checkPlain(page: Uint8Array, values: PageValues): void {
  if (values.type !== 'BYTE_ARRAY') return checkFixed(page, values, widthOf(values));
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  let at = values.from;
  for (let i = 0; i < values.count; i++) {
    if (at + 4 > page.length) throw new RangeError(`value ${i} of a page is behind its end`);
    at += 4 + view.getUint32(at, true);
  }
  if (at > page.length) throw new RangeError('the last value of a page is cut off');
}

function checkIndices(page: Uint8Array, { from, count, hasDictionary, type }: PageValues): void {
  if (!hasDictionary) throw new RangeError('a page needs a dictionary, and none comes before it');
  if (type === 'BOOLEAN') throw new RangeError('a dictionary of booleans is stated');
  checkRuns(page, { from: from + 1, to: page.length, width: page[from] ?? NaN, count }, -1);
}

function checkBooleans(page: Uint8Array, { from, count, type }: PageValues): void {
  if (type !== 'BOOLEAN') throw new RangeError(`runs of the type ${type} are stated`);
  checkRuns(page, { from: from + 4, to: page.length, width: 1, count }, -1);
}

function checkLengths(page: Uint8Array, { from, count }: PageValues): void {
  const { lengths, end } = unpackLengths(page, from, count);
  requireBytes(lengths, page.length - end);
}

/** Each value begins with the first bytes of the one before it. */
function checkPrefixes(page: Uint8Array, { from, count, maxBytes }: PageValues): void {
  const prefixes = unpackLengths(page, from, count);
  const suffixes = unpackLengths(page, prefixes.end, count);
  requireBytes(suffixes.lengths, page.length - suffixes.end);
  let before = 0;
  let total = 0;
  prefixes.lengths.forEach((prefix, i) => {
    if (!(prefix >= 0 && prefix <= before)) {
      throw new RangeError(`value ${i} shares ${prefix} bytes with one of ${before}`);
    }
    before = prefix + suffixes.lengths[i]!;
    total += before;
  });
  if (total > maxBytes)
    throw new RangeError(`its values have ${total} bytes (option maxPageBytes: ${maxBytes})`);
}

function requireBytes(lengths: Int32Array, left: number): void {
  let needed = 0;
  for (const length of lengths) {
    if (length < 0) throw new RangeError(`a value of ${length} bytes is stated`);
    needed += length;
  }
  if (needed > left) throw new RangeError(`values need ${needed} bytes, and a page has ${left}`);
}
