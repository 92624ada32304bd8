import type { FileMetaData } from 'hyparquet';
import * as z from 'zod';
import { formatInWorker } from '#platform/formats';
import { parseOptions } from '@acc/contract';
import { blockDataset, type BlockDataset } from '../blocks/block-dataset.js';
import { columnarSchema, requireSameColumns, type ColumnarOptions } from '../columnar/columnar-options.js';
import { columnValue, type Column, type ResolvedColumnOptions } from '../columnar/column-values.js';
import { badFormat, describePlace } from '../errors.js';
import { movableMap, openMap } from '../map-sample.js';
import { mapConcurrently } from '../sources/map-concurrently.js';
import { resolveLocations, type Locations } from '../sources/locations.js';
import { openSource, sourceOf } from '../sources/open-source.js';
import type { SourceState } from '../sources/source.js';
import { readColumns, readFooter, type ParquetLimits } from './parquet-file.js';
import { columnsOf } from './parquet-schema.js';

/** Everything that a thread needs to read the samples. It can be sent to another thread. */
interface ParquetState {
  readonly files: readonly SourceState[];
  readonly footers: readonly FileMetaData[];
  readonly columns: readonly Column[];
  readonly options: ResolvedColumnOptions;
  readonly limits: ParquetLimits;
}

export interface ParquetOptions<Sample = unknown, Mapped = Sample>
  extends ColumnarOptions<Sample, Mapped>, Partial<ParquetLimits> {
  /** The largest number of rows of a row group, and of values of a column in it. Default 2^26. */
  readonly maxGroupValues?: number;
  /** The largest size of a page without compression, in bytes. Default 512 MiB. */
  readonly maxPageBytes?: number;
}

const schema = columnarSchema.extend({
  maxGroupValues: z
    .int()
    .positive()
    .default(2 ** 26),
  maxPageBytes: z
    .int()
    .positive()
    .default(512 * 2 ** 20),
});

/** The number of files whose footers are read at a time. */
const OPENED_AT_A_TIME = 8;

/**
 * The rows of Parquet files. Row groups are the blocks: `dataset.sampler(…)` reads each of them once
 * in an epoch. Only the bytes of the columns that are asked for are read.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`,
 * `ACC_DATA_RANGES`, `ACC_DATA_FORMAT`; `ACC_DATA_COLUMN` if a column is missing, or files have
 * different columns. Samples: `ACC_DATA_FORMAT`, `ACC_DATA_COLUMN` (null, an integer that is too
 * large), `ACC_DATA_READ`, `ACC_DATA_CHANGED`.
 */
export async function parquetDataset<Sample = Record<string, unknown>, Mapped = Sample>(
  locations: Locations,
  options: ParquetOptions<Sample, Mapped> = {},
): Promise<BlockDataset<Mapped>> {
  const given = parseOptions('parquetDataset', schema, options);
  const { map, http, columns: wanted, integers, defaults, maxGroupValues, maxPageBytes } = given;
  const limits = { maxGroupValues, maxPageBytes };
  const paths = await resolveLocations(locations, { http });
  const opened = await mapConcurrently(paths, OPENED_AT_A_TIME, async (location) => {
    const source = await openSource(location, { http });
    const footer = await readFooter(source, limits);
    const { name: file, state } = source;
    return { state, footer, file, columns: columnsOf(file, footer, wanted) };
  });
  for (const other of opened) requireSameColumns(opened[0]!, other);
  const state: ParquetState = {
    files: opened.map((file) => file.state),
    footers: opened.map(({ footer }) => footer),
    columns: opened[0]!.columns,
    options: { integers, defaults },
    limits,
  };
  const sent = movableMap(map);
  const inWorker = (cachedBlocks: number) => formatInWorker('parquet', { ...state, ...sent, cachedBlocks });
  const dataset = openRows(state, { map: await openMap(map), inWorker: sent && inWorker });
  return dataset as BlockDataset<Mapped>;
}

/** Opens the same rows in a worker thread. */
export async function parquetInWorker(
  state: ParquetState & { readonly map: string | undefined; readonly cachedBlocks: number },
): Promise<BlockDataset<unknown>> {
  return openRows(state, { map: await openMap(state.map), cachedBlocks: state.cachedBlocks });
}

interface RowGroup {
  readonly file: number;
  /** The number of the row group in its file. */
  readonly group: number;
  readonly rowStart: number;
  readonly rows: number;
}

type OpenOptions = Parameters<typeof blockDataset>[1] & { readonly map: Awaited<ReturnType<typeof openMap>> };

function openRows(
  { files, footers, columns, options, limits }: ParquetState,
  { map, ...blocks }: OpenOptions,
): BlockDataset<unknown> {
  const sources = files.map((file) => sourceOf(file));
  const names = columns.map(({ name }) => name);
  const groups = footers.flatMap(rowGroupsOf);
  const placeOf = (group: number, row: number) => {
    const { file, rowStart } = groups[group]!;
    return { file: sources[file]!.name, row: rowStart + row, unit: 'row' };
  };
  return blockDataset<readonly ArrayLike<unknown>[], unknown>(
    {
      blocks: groups.map(({ rows }) => rows),
      load(block) {
        const { file, group, rowStart, rows } = groups[block]!;
        const wanted = { group, columns: names, rowStart, rowEnd: rowStart + rows };
        return readColumns(sources[file]!, footers[file]!, wanted, limits);
      },
      sample(values, group, row) {
        const place = placeOf(group, row);
        const sample: Record<string, unknown> = {};
        columns.forEach((column, i) => {
          const value = values[i]![row];
          if (value === undefined && isFlat(column)) {
            throw badFormat(place, `the column '${column.name}' has a value that is not in its dictionary`);
          }
          sample[column.name] = columnValue(column, value, options, place);
        });
        return map ? map(sample, place) : sample;
      },
      nameOf: (group, row) => describePlace(placeOf(group, row)),
    },
    blocks,
  );
}

/** Nulls of such columns are null. */
const isFlat = ({ kind }: Column) => kind.depth === 0 && kind.of !== 'other';

function rowGroupsOf(footer: FileMetaData, file: number): RowGroup[] {
  let rowStart = 0;
  return footer.row_groups.map(({ num_rows }, group) => {
    const rows = Number(num_rows);
    rowStart += rows;
    return { file, group, rowStart: rowStart - rows, rows };
  });
}
