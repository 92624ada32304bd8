import { parquetMetadataAsync, parquetScan, type AsyncBuffer, type FileMetaData } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { isAccError } from '@acc/contract';
import { badFormat } from '../errors.js';
import type { Source } from '../sources/source.js';

/** The bytes at the end of a file that are read for its footer. A longer footer takes a second read. */
const FOOTER_BYTES = 64 * 1024;

/** The footer of a file, without statistics. It can be sent to other threads. */
export async function readFooter(source: Source): Promise<FileMetaData> {
  const options = { initialFetchSize: FOOTER_BYTES, geoparquet: false };
  const metadata = await parsed(source, () => parquetMetadataAsync(bufferOf(source), options));
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

/** Rows of a file that are read together. */
export interface RowRange {
  readonly rowStart: number;
  readonly rowEnd: number;
}

/** The values of some columns in one row group. Only the bytes of these columns are read. */
export async function readColumns(
  source: Source,
  metadata: FileMetaData,
  columns: readonly string[],
  rows: RowRange,
): Promise<ArrayLike<unknown>[]> {
  return parsed(source, async () => {
    const scan = await parquetScan({
      file: bufferOf(source),
      metadata,
      columns: [...columns],
      ...rows,
      compressors,
      // Text is marked as such; other byte arrays are bytes.
      utf8: false,
      geoparquet: false,
      useOffsetIndex: false,
    });
    return Promise.all(columns.map((column) => scan.readColumn({ column, ...rows })));
  });
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

async function parsed<T>(source: Source, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isAccError(cause)) throw cause;
    throw badFormat(source.name, `it cannot be read as Parquet: ${(cause as Error).message}`, { cause });
  }
}
