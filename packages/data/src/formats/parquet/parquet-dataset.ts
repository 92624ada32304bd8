import type { FileMetaData } from 'hyparquet';
import { formatInWorker } from '#platform/formats';
import { parseOptions } from '@acc/contract';
import { blockDataset, type BlockDataset } from '../blocks/block-dataset.js';
import { columnarSchema, requireSameColumns, type ColumnarOptions } from '../columnar/columnar-options.js';
import { columnValue, type Column, type ResolvedColumnOptions } from '../columnar/column-values.js';
import { describePlace } from '../errors.js';
import { movableMap, openMap } from '../map-sample.js';
import { mapConcurrently } from '../sources/map-concurrently.js';
import { resolveLocations, type Locations } from '../sources/locations.js';
import { openSource, sourceOf } from '../sources/open-source.js';
import type { SourceState } from '../sources/source.js';
import { readColumns, readFooter } from './parquet-file.js';
import { columnsOf } from './parquet-schema.js';

/** Everything that a thread needs to read the samples. It can be sent to another thread. */
interface ParquetState {
  readonly files: readonly SourceState[];
  readonly footers: readonly FileMetaData[];
  readonly columns: readonly Column[];
  readonly options: ResolvedColumnOptions;
}

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
  options: ColumnarOptions<Sample, Mapped> = {},
): Promise<BlockDataset<Mapped>> {
  const {
    map,
    columns: wanted,
    integers,
    defaults,
  } = parseOptions('parquetDataset', columnarSchema, options);
  const paths = await resolveLocations(locations);
  const opened = await mapConcurrently(paths, OPENED_AT_A_TIME, async (location) => {
    const source = await openSource(location);
    const footer = await readFooter(source);
    const { name: file, bytes, tag } = source;
    return { state: { location, bytes, tag }, footer, file, columns: columnsOf(file, footer, wanted) };
  });
  for (const other of opened) requireSameColumns(opened[0]!, other);
  const state: ParquetState = {
    files: opened.map((file) => file.state),
    footers: opened.map(({ footer }) => footer),
    columns: opened[0]!.columns,
    options: { integers, defaults },
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
  readonly rowStart: number;
  readonly rows: number;
}

type OpenOptions = Parameters<typeof blockDataset>[1] & { readonly map: Awaited<ReturnType<typeof openMap>> };

function openRows(
  { files, footers, columns, options }: ParquetState,
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
      load(group) {
        const { file, rowStart, rows } = groups[group]!;
        return readColumns(sources[file]!, footers[file]!, names, { rowStart, rowEnd: rowStart + rows });
      },
      sample(values, group, row) {
        const place = placeOf(group, row);
        const sample: Record<string, unknown> = {};
        columns.forEach((column, i) => {
          sample[column.name] = columnValue(column, values[i]![row], options, place);
        });
        return map ? map(sample, place) : sample;
      },
      nameOf: (group, row) => describePlace(placeOf(group, row)),
    },
    blocks,
  );
}

function rowGroupsOf(footer: FileMetaData, file: number): RowGroup[] {
  let rowStart = 0;
  return footer.row_groups.map((group) => {
    const rows = Number(group.num_rows);
    rowStart += rows;
    return { file, rowStart: rowStart - rows, rows };
  });
}
