import {
  parquetMetadataAsync,
  parquetScan,
  parquetSchema,
  type AsyncBuffer,
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  type SchemaTree,
} from 'hyparquet';
import { isAccError } from '@acc/contract';
import { badFormat } from '../errors.js';
import type { Source } from '../sources/source.js';
import { checkFooter, leavesOf, rangeOf } from './footer-check.js';
import { checkPages, type DecodedPage } from './pages.js';
import { ThriftReader } from './thrift.js';

/** The bytes at the end of a file that are read for its footer. A longer footer takes a second read. */
const FOOTER_BYTES = 64 * 1024;
/** The length of the footer, and the magic word. */
const TAIL_BYTES = 8;

/** Limits of what files may state. */
export interface ParquetLimits {
  /** The rows of a row group, and the values of a column in it. */
  readonly maxGroupValues: number;
  /** The bytes of a page without compression. */
  readonly maxPageBytes: number;
}

/** The footer of a file, without statistics. It can be sent to other threads. */
export async function readFooter(source: Source, { maxGroupValues }: ParquetLimits): Promise<FileMetaData> {
  const options = { initialFetchSize: FOOTER_BYTES, geoparquet: false };
  return parsed(source, 'its footer', async () => {
    await checkThrift(source);
    const metadata = await parquetMetadataAsync(bufferOf(source), options);
    checkFooter(metadata, source.bytes, maxGroupValues);
    return withoutStatistics(metadata);
  });
}

function withoutStatistics(metadata: FileMetaData): FileMetaData {
  return {
    ...metadata,
    row_groups: metadata.row_groups.map((group) => ({
      ...group,
      columns: group.columns.map(({ meta_data: data, ...column }) => {
        if (!data) return column;
        const { statistics: _, ...rest } = data;
        return { ...column, meta_data: rest };
      }),
    })),
  };
}

/** The library checks no lengths in the footer. */
async function checkThrift(source: Source): Promise<void> {
  const first = Math.max(source.bytes - FOOTER_BYTES, 0);
  const end = Buffer.from(await source.read(first, source.bytes));
  if (end.length < TAIL_BYTES || end.toString('latin1', end.length - 4) !== 'PAR1') {
    throw new RangeError('the magic word PAR1 is not at its end');
  }
  const length = end.readUInt32LE(end.length - TAIL_BYTES);
  const start = source.bytes - TAIL_BYTES - length;
  if (start < 0) throw new RangeError(`a footer of ${length} bytes is stated`);
  const isRead = start >= first;
  new ThriftReader(isRead ? end.subarray(start - first) : await source.read(start, source.bytes)).struct();
}

/** Rows of a file that are read together. */
export interface RowRange {
  readonly rowStart: number;
  readonly rowEnd: number;
}

/** The columns and rows of a row group that are read. */
export interface ColumnsOfGroup extends RowRange {
  readonly group: number;
  readonly columns: readonly string[];
}

/** The values of some columns in one row group. Only the bytes of these columns are read. */
export async function readColumns(
  source: Source,
  metadata: FileMetaData,
  { group, columns, rowStart, rowEnd }: ColumnsOfGroup,
  limits: ParquetLimits,
): Promise<ArrayLike<unknown>[]> {
  const leaves = leavesOf(parquetSchema(metadata));
  const read = async (column: string) => {
    const own = leaves.flatMap((path, i) =>
      path[1]!.element.name === column
        ? [{ path, meta: metadata.row_groups[group]!.columns[i]!.meta_data! }]
        : [],
    );
    return parsed(source, `row group ${group}, column '${column}'`, async () => {
      const rows = { rowStart, rowEnd };
      const fetched = await fetchChunks(source, own, rowEnd - rowStart, limits);
      const values = await decodeColumn({ ...fetched, metadata }, column, rows);
      if (values.length === rowEnd - rowStart) return values;
      throw new RangeError(`it has ${values.length} rows, and the row group has ${rowEnd - rowStart}`);
    });
  };
  // If one fails, the others are waited for, so that their errors are not left over.
  const results = await Promise.allSettled(columns.map(read));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<ArrayLike<unknown>>).value);
}

interface Leaf {
  readonly path: readonly SchemaTree[];
  readonly meta: ColumnMetaData;
}

/** The bytes of columns, all of whose pages were checked. */
interface Fetched {
  readonly file: AsyncBuffer;
  readonly compressors: Compressors;
}

async function fetchChunks(
  source: Source,
  leaves: readonly Leaf[],
  rows: number,
  { maxPageBytes }: ParquetLimits,
): Promise<Fetched> {
  const { slice } = bufferOf(source);
  const pages: DecodedPage[] = [];
  const chunks = await Promise.all(
    leaves.map(async ({ meta }) => {
      const { start, end } = rangeOf(meta);
      return { start, end, buffer: await slice(start, end) };
    }),
  );
  leaves.forEach(({ path, meta }, i) => {
    const bytes = new Uint8Array(chunks[i]!.buffer);
    pages.push(...checkPages({ bytes, meta, path, rows, maxPageBytes }));
  });
  const file: AsyncBuffer = {
    byteLength: source.bytes,
    slice: (from, to = source.bytes) => joined(chunks, from, to),
  };
  return { file, compressors: decodedPages(pages) };
}

interface FetchedChunk {
  readonly start: number;
  readonly end: number;
  readonly buffer: ArrayBuffer;
}

/** The library asks for chunks, or for several that lie near each other. */
function joined(chunks: readonly FetchedChunk[], from: number, to: number): ArrayBuffer {
  const full = chunks.find(({ start, end }) => start === from && end === to);
  if (full) return full.buffer;
  const bytes = new Uint8Array(to - from);
  for (const { start, end, buffer } of chunks) {
    if (start >= from && end <= to) bytes.set(new Uint8Array(buffer), start - from);
  }
  return bytes.buffer;
}

/** Gives the library the pages that were decompressed when they were checked, mostly in the same order. */
function decodedPages(pages: readonly DecodedPage[]): Compressors {
  let next = 0;
  const take = (input: Uint8Array): Uint8Array => {
    const isIt = (page: DecodedPage | undefined) => page && Buffer.compare(page.input, input) === 0;
    const found = isIt(pages[next]) ? next : pages.findIndex(isIt);
    if (found < 0) throw new RangeError('a page was not checked');
    next = found + 1;
    return pages[found]!.page;
  };
  return Object.fromEntries(pages.map(({ codec }) => [codec, take]));
}

async function decodeColumn(
  { metadata, ...fetched }: Fetched & { readonly metadata: FileMetaData },
  column: string,
  rows: RowRange,
): Promise<ArrayLike<unknown>> {
  const scan = await parquetScan({
    ...fetched,
    metadata,
    columns: [column],
    ...rows,
    // Text is marked as such; other byte arrays are bytes.
    utf8: false,
    geoparquet: false,
    useOffsetIndex: false,
  });
  return scan.readColumn({ column, ...rows });
}

function bufferOf(source: Source): AsyncBuffer {
  return {
    byteLength: source.bytes,
    async slice(start, end = source.bytes) {
      const bytes = await source.read(start, end);
      // Memory of its own, which starts with the first byte.
      return bytes.byteLength === bytes.buffer.byteLength
        ? (bytes.buffer as ArrayBuffer)
        : bytes.slice().buffer;
    },
  };
}

async function parsed<T>(source: Source, part: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isAccError(cause)) throw cause;
    const { message } = cause as Error;
    throw badFormat(source.name, `it cannot be read as Parquet: ${part}: ${message}`, { cause });
  }
}
