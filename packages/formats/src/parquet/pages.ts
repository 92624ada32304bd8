import type { ColumnMetaData, CompressionCodec, Encoding, SchemaTree } from 'hyparquet';
import { decompress } from './decompress.js';
import { checkValues } from './page-values.js';
import { checkRuns } from './runs.js';
import { ThriftReader, type ThriftStruct, type ThriftValue } from './thrift.js';

/** By the numbers of Parquet's format. */
const ENCODINGS: readonly (Encoding | undefined)[] = [
  ...(['PLAIN', undefined, 'PLAIN_DICTIONARY', 'RLE', undefined, 'DELTA_BINARY_PACKED'] as const),
  ...(['DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY', 'RLE_DICTIONARY', 'BYTE_STREAM_SPLIT'] as const),
];
const PAGE = { data: 0, dictionary: 2, dataV2: 3 };

/** A column in a row group. */
export interface Chunk {
  /** Its pages. */
  readonly bytes: Uint8Array;
  readonly meta: ColumnMetaData;
  /** From the root to the column. */
  readonly path: readonly SchemaTree[];
  readonly rows: number;
  /** The largest size of a page without compression. */
  readonly maxPageBytes: number;
}

/** A page that was decompressed. */
export interface DecodedPage {
  readonly codec: CompressionCodec;
  readonly input: Uint8Array;
  readonly page: Uint8Array;
}

/**
 * Checks all pages of a column: their sizes, the number of their values, and what their values state
 * of themselves. The library takes these numbers as they are.
 *
 * @returns Its compressed pages without compression.
 * @throws RangeError, or the error of a decoder. They say which byte of the column the page has.
 */
export function checkPages(chunk: Chunk): DecodedPage[] {
  const column = columnOf(chunk);
  const decoded: DecodedPage[] = [];
  const expected = Number(chunk.meta.num_values);
  let values = 0;
  let hasDictionary = false;
  // As the library does, a last byte is not looked at.
  for (let at = 0; at < chunk.bytes.length - 1 && (values < expected || !column.isFlat);) {
    try {
      const page = pageAt(chunk, at);
      const found = checkPage(page, { ...column, hasDictionary }, expected - values);
      if (found.decoded) decoded.push(found.decoded);
      hasDictionary ||= page.type === PAGE.dictionary;
      values += found.values;
      at = page.end;
    } catch (cause) {
      throw new RangeError(`the page at byte ${at} of the column: ${(cause as Error).message}`, { cause });
    }
  }
  if (values !== expected) throw new RangeError(`the column states ${expected} values, and has ${values}`);
  if (column.isFlat && values !== chunk.rows) {
    throw new RangeError(`the column has ${values} values, and the row group ${chunk.rows} rows`);
  }
  return decoded;
}

interface ColumnFacts extends Pick<Chunk, 'maxPageBytes'> {
  readonly meta: ColumnMetaData;
  readonly typeLength: number | undefined;
  readonly maxRepetition: number;
  readonly maxDefinition: number;
  readonly isFlat: boolean;
  readonly hasDictionary: boolean;
}

function columnOf({ meta, path, maxPageBytes }: Chunk): ColumnFacts {
  const kinds = path.slice(1).map(({ element }) => element.repetition_type);
  const maxRepetition = kinds.filter((kind) => kind === 'REPEATED').length;
  return {
    meta,
    maxPageBytes,
    typeLength: path.at(-1)!.element.type_length,
    maxRepetition,
    maxDefinition: kinds.filter((kind) => kind !== 'REQUIRED').length,
    isFlat: path.length === 2 && maxRepetition === 0,
    hasDictionary: false,
  };
}

interface Page {
  readonly type: number;
  readonly header: ThriftStruct;
  readonly input: Uint8Array;
  /** The size without compression. */
  readonly bytes: number;
  readonly end: number;
}

function pageAt({ bytes, maxPageBytes }: Chunk, at: number): Page {
  const reader = new ThriftReader(bytes, at);
  const header = reader.struct();
  const size = count('bytes', header.get(2), maxPageBytes);
  const stored = count('compressed bytes', header.get(3), bytes.length - reader.at);
  const end = reader.at + stored;
  const type = count('its type', header.get(1), PAGE.dataV2);
  return { type, header, input: bytes.subarray(reader.at, end), bytes: size, end };
}

interface CheckedPage {
  readonly values: number;
  readonly decoded?: DecodedPage;
}

function checkPage(page: Page, column: ColumnFacts, left: number): CheckedPage {
  if (page.type === PAGE.data) return checkV1(page, column, left);
  if (page.type === PAGE.dataV2) return checkV2(page, column, left);
  if (page.type !== PAGE.dictionary) throw new RangeError(`pages of the type ${page.type} are not supported`);
  const header = fieldsOf(page.header, 7);
  const decoded = decode(column, page.input, page.bytes);
  const values = count('values', header.get(1), decoded.page.length * 8);
  checkValues(decoded.page, { ...valuesOf(column), from: 0, count: values, encoding: 'PLAIN' });
  return { values: 0, decoded };
}

/** Levels come before the values, and are compressed with them. */
function checkV1(page: Page, column: ColumnFacts, left: number): CheckedPage {
  const header = fieldsOf(page.header, 5);
  const values = count('values', header.get(1), left);
  const decoded = decode(column, page.input, page.bytes);
  const view = new DataView(decoded.page.buffer, decoded.page.byteOffset, decoded.page.byteLength);
  let from = 0;
  let present = values;
  for (const max of [column.maxRepetition, column.maxDefinition]) {
    if (max === 0) continue;
    const to =
      from + 4 + count('bytes of levels', view.getUint32(from, true), decoded.page.length - from - 4);
    present = checkRuns(decoded.page, { from: from + 4, to, width: bitsOf(max), count: values }, max);
    from = to;
  }
  if (column.maxDefinition === 0) present = values;
  const encoding = ENCODINGS[Number(header.get(2))];
  checkValues(decoded.page, { ...valuesOf(column), from, count: present, encoding });
  return { values, decoded };
}

/** Levels come before the compressed values. */
function checkV2({ header: page, input, bytes }: Page, column: ColumnFacts, left: number): CheckedPage {
  const header = fieldsOf(page, 8);
  const values = count('values', header.get(1), left);
  const nulls = count('nulls', header.get(2), values);
  count('rows', header.get(3), values);
  const definitions = count('bytes of levels', header.get(5), Math.min(input.length, bytes));
  const repetitions = count('bytes of levels', header.get(6), Math.min(input.length, bytes) - definitions);
  const levels = repetitions + definitions;
  const { maxRepetition, maxDefinition } = column;
  if (maxRepetition > 0) {
    const runs = { from: 0, to: repetitions, width: bitsOf(maxRepetition), count: values };
    checkRuns(input, runs, maxRepetition);
  }
  if (maxDefinition > 0) {
    const runs = { from: repetitions, to: levels, width: bitsOf(maxDefinition), count: values };
    const present = checkRuns(input, runs, maxDefinition);
    if (present !== values - nulls)
      throw new RangeError(`it states ${nulls} nulls, and has ${values - present}`);
  }
  const isPlain = header.get(7) === false;
  const decoded = decode(column, input.subarray(levels), bytes - levels, isPlain);
  const encoding = ENCODINGS[Number(header.get(4))];
  checkValues(decoded.page, { ...valuesOf(column), from: 0, count: values - nulls, encoding });
  return { values, decoded };
}

function decode({ meta }: ColumnFacts, input: Uint8Array, bytes: number, isPlain = false): DecodedPage {
  const codec = isPlain ? 'UNCOMPRESSED' : meta.codec;
  return { codec, input, page: decompress(codec, input, bytes) };
}

function valuesOf({ meta, typeLength, maxPageBytes, hasDictionary }: ColumnFacts) {
  return { type: meta.type, typeLength, maxBytes: maxPageBytes, hasDictionary };
}

function fieldsOf(header: ThriftStruct, field: number): ThriftStruct {
  const fields = header.get(field);
  if (fields instanceof Map) return fields;
  throw new RangeError('a page has no header of its type');
}

function count(what: string, stated: ThriftValue | undefined, most: number): number {
  if (typeof stated === 'number' && stated >= 0 && stated <= most) return stated;
  throw new RangeError(`${what}: ${String(stated)}, and there can be ${most}`);
}

/** The bits of a level. */
const bitsOf = (max: number): number => 32 - Math.clz32(max);
