import type * as Arrow from 'apache-arrow';
import { formatInWorker } from '#platform/formats';
import { isAccError, parseOptions } from '@acc/contract';
import { blockDataset, type BlockDataset } from '../blocks/block-dataset.js';
import { columnarSchema, requireSameColumns, type ColumnarOptions } from '../columnar/columnar-options.js';
import { columnValue, type Column, type ResolvedColumnOptions } from '../columnar/column-values.js';
import { badFormat, describePlace } from '../errors.js';
import { movableMap, openMap } from '../map-sample.js';
import { mapConcurrently } from '../sources/map-concurrently.js';
import { resolveLocations, type Locations } from '../sources/locations.js';
import { openSource, sourceOf } from '../sources/open-source.js';
import type { Source, SourceState } from '../sources/source.js';
import { arrowColumns, plainValue } from './arrow-columns.js';
import { arrowLayout, loadArrow, type ArrowLayout, type ArrowModule, type Part } from './arrow-layout.js';
import { verifyValues } from './arrow-values.js';

/** Everything that a thread needs to read the samples. It can be sent to another thread. */
interface ArrowState {
  readonly files: readonly SourceState[];
  readonly layouts: readonly ArrowLayout[];
  readonly columns: readonly Column[];
  readonly options: ResolvedColumnOptions;
}

/** The number of files that are looked at at a time. */
const OPENED_AT_A_TIME = 8;
const END_OF_STREAM = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);

/**
 * The rows of Arrow IPC files: the file format (Feather version 2, without compression) and the stream
 * format. Record batches are the blocks, which are read whole: `dataset.sampler(…)` reads each of them
 * once in an epoch. Needs the package `apache-arrow`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_PACKAGE`,
 * `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_RANGES`; `ACC_DATA_FORMAT`, also if batches are
 * compressed; `ACC_DATA_COLUMN` if a column is missing or of a type that cannot be read, or files have
 * different columns. Samples: `ACC_DATA_FORMAT`, `ACC_DATA_COLUMN` (null, an integer that is too large),
 * `ACC_DATA_READ`, `ACC_DATA_CHANGED`.
 */
export async function arrowDataset<Sample = Record<string, unknown>, Mapped = Sample>(
  locations: Locations,
  options: ColumnarOptions<Sample, Mapped> = {},
): Promise<BlockDataset<Mapped>> {
  const {
    map,
    http,
    columns: wanted,
    integers,
    defaults,
  } = parseOptions('arrowDataset', columnarSchema, options);
  const arrow = await loadArrow();
  const paths = await resolveLocations(locations, { http });
  const opened = await mapConcurrently(paths, OPENED_AT_A_TIME, async (location) => {
    const source = await openSource(location, { http });
    const layout = await arrowLayout(arrow, source);
    const { name: file, state } = source;
    const columns = await parsed(source, [layout.schema], (parts) =>
      arrowColumns(arrow, file, arrow.tableFromIPC(parts).schema, wanted),
    );
    return { state, layout, file, columns };
  });
  for (const other of opened) requireSameColumns(opened[0]!, other);
  const state: ArrowState = {
    files: opened.map((file) => file.state),
    layouts: opened.map(({ layout }) => layout),
    columns: opened[0]!.columns,
    options: { integers, defaults },
  };
  const sent = movableMap(map);
  const inWorker = (cachedBlocks: number) => formatInWorker('arrow', { ...state, ...sent, cachedBlocks });
  return openRows(arrow, state, {
    map: await openMap(map),
    inWorker: sent && inWorker,
  }) as BlockDataset<Mapped>;
}

/** Opens the same rows in a worker thread. */
export async function arrowInWorker(
  state: ArrowState & { readonly map: string | undefined; readonly cachedBlocks: number },
): Promise<BlockDataset<unknown>> {
  const { map, cachedBlocks } = state;
  return openRows(await loadArrow(), state, { map: await openMap(map), cachedBlocks });
}

type OpenOptions = Parameters<typeof blockDataset>[1] & { readonly map: Awaited<ReturnType<typeof openMap>> };

function openRows(
  arrow: ArrowModule,
  { files, layouts, columns, options }: ArrowState,
  { map, ...blocks }: OpenOptions,
): BlockDataset<unknown> {
  const sources = files.map((file) => sourceOf(file));
  const batches = layouts.flatMap((layout, file) => {
    let first = 0;
    return layout.batches.map((batch) => ({ ...batch, file, first: (first += batch.rows) - batch.rows }));
  });
  const placeOf = (batch: number, row: number) => {
    const { file, first } = batches[batch]!;
    return { file: sources[file]!.name, row: first + row, unit: 'row' };
  };
  return blockDataset<readonly Arrow.Vector[], unknown>(
    {
      blocks: batches.map(({ rows }) => rows),
      async load(batch) {
        const { file, part, dictionaries } = batches[batch]!;
        const layout = layouts[file]!;
        const parts = [layout.schema, ...layout.dictionaries.slice(0, dictionaries), part];
        return parsed(sources[file]!, parts, (bytes) => vectorsOf(arrow, bytes, columns));
      },
      sample(vectors, batch, row) {
        const place = placeOf(batch, row);
        const sample: Record<string, unknown> = {};
        columns.forEach((column, i) => {
          const value = plainValue(column.kind, vectors[i]!.get(row));
          sample[column.name] = columnValue(column, value, options, place);
        });
        return map ? map(sample, place) : sample;
      },
      nameOf: (batch, row) => describePlace(placeOf(batch, row)),
    },
    blocks,
  );
}

/** The values of columns in messages that are a stream of their own. All values are checked. */
function vectorsOf(arrow: ArrowModule, bytes: Uint8Array, columns: readonly Column[]): Arrow.Vector[] {
  const table = arrow.tableFromIPC(bytes);
  return columns.map(({ name }) => {
    const vector = table.getChild(name)!;
    verifyValues(arrow, vector);
    return vector;
  });
}

/** Reads messages of a file, and parses them as a stream of their own. */
async function parsed<T>(
  source: Source,
  parts: readonly Part[],
  parse: (bytes: Uint8Array) => T,
): Promise<T> {
  const messages = await Promise.all(parts.map(([start, end]) => source.read(start, end)));
  try {
    return parse(Buffer.concat([...messages, END_OF_STREAM]));
  } catch (cause) {
    if (isAccError(cause)) throw cause;
    const { message } = cause as Error;
    const [start] = parts.at(-1)!;
    const what = `it cannot be read as Arrow IPC: the message at byte ${start}: ${message}`;
    throw badFormat(source.name, what, { cause });
  }
}
