import * as z from 'zod';
import { parseOptions } from '@acc/contract';
import type { BlockDataset } from '../blocks/block-dataset.js';
import { badFormat } from '../errors.js';
import {
  fileOptions,
  SECRET_OPTIONS,
  type FileDatasetOptions,
  type ResolvedFileOptions,
} from '../file-options.js';
import {
  openRecordFiles,
  recordDataset,
  recordsInWorker,
  type RecordState,
} from '../records/record-dataset.js';
import type { RecordFormat } from '../records/record-format.js';
import type { Locations } from '../sources/locations.js';
import { sourceOf } from '../sources/open-source.js';
import { cellsOf } from './cells.js';
import { columnsSchema, rowReader, type ColumnSpecs } from './columns.js';
import { scanRows } from './row-framing.js';

/** A row: a value for each column that is read. */
export type CsvSample = Record<string, unknown>;

export interface CsvOptions<Sample = CsvSample, Mapped = unknown> extends FileDatasetOptions<Sample, Mapped> {
  /**
   * The values of a sample and how they are made: `{ label: 'int32', x: { dtype: 'float32', from: ['a', 'b'] } }`.
   * Default: all columns, as strings.
   */
  readonly columns?: ColumnSpecs;
  /**
   * True (default): the first row of each file has the names of the columns. A list: the names; the first row is a
   * sample.
   */
  readonly header?: true | readonly string[];
  /** The separator of cells. Default `,`. */
  readonly delimiter?: string;
  /**
   * The quote around cells with newlines or delimiters; twice within such a cell, it stands for
   * itself. Default `"`.
   */
  readonly quote?: string | false;
}

const formatOptions = {
  columns: columnsSchema.optional(),
  header: z.union([z.literal(true), z.array(z.string()).min(1).readonly()]).default(true),
  delimiter: z.string().min(1).default(','),
  quote: z.union([z.literal(false), z.string().regex(/^[!-~]$/, 'one character of ASCII')]).default('"'),
};
type CsvFormatOptions = Readonly<z.infer<ReturnType<typeof z.object<typeof formatOptions>>>>;

const schema = z.object({ ...fileOptions, ...formatOptions });

/**
 * The rows of CSV files (RFC 4180), in UTF-8. All files have the same columns.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`,
 * `ACC_DATA_RANGES`, `ACC_DATA_FORMAT` (columns differ, an open quote), `ACC_DATA_COLUMN` (a column is missing).
 * Samples: `ACC_DATA_FORMAT` (the number of cells), `ACC_DATA_COLUMN` (a value of another type), `ACC_DATA_READ`,
 * `ACC_DATA_CHANGED`.
 */
export async function csvDataset<Sample = CsvSample, Mapped = Sample>(
  locations: Locations,
  options: CsvOptions<Sample, Mapped> = {},
): Promise<BlockDataset<Mapped>> {
  const given = parseOptions('csvDataset', schema, options, SECRET_OPTIONS);
  const { columns, header, delimiter, quote, ...files } = given;
  const state = await openRecordFiles(locations, framingOf(given), files);
  const names = header === true ? await readHeader(state, given) : header;
  const own = { columns, header: names, delimiter, quote };
  return recordDataset(state, csvFormat(own, state), files, { name: 'csv', options: own });
}

/** Opens the same dataset in a worker thread. */
export function csvInWorker(
  state: Parameters<typeof recordsInWorker>[0] & { readonly options: NamedColumns },
): Promise<BlockDataset<unknown>> {
  return recordsInWorker(state, csvFormat(state.options, state));
}

/** The options with the names of all columns. */
type NamedColumns = CsvFormatOptions & { readonly header: readonly string[] };

function framingOf({ header, quote }: CsvFormatOptions) {
  const hasHeader = header === true;
  const byte = quote === false ? undefined : quote.charCodeAt(0);
  return {
    unit: 'row',
    framing: `csv ${quote === false ? 'none' : quote} ${hasHeader}`,
    scan: (...[source, onScan]: Parameters<RecordFormat<unknown>['scan']>) =>
      scanRows(source, onScan, { quote: byte, hasHeader }),
  };
}

function csvFormat(options: NamedColumns, { files }: RecordState): RecordFormat<CsvSample> {
  const { header, columns } = options;
  const read = rowReader(header, columns, files[0]!.location);
  return {
    ...framingOf(options),
    decode: (bytes, place) => read(cellsOf(bytes, options, place), place),
  };
}

async function readHeader(
  { files, starts }: RecordState,
  options: CsvFormatOptions & Pick<ResolvedFileOptions, 'maxSampleBytes'>,
): Promise<string[]> {
  const headers = await Promise.all(
    files.map(async (file, i) => {
      const source = sourceOf(file);
      const bytes = starts[i]![0]!;
      if (bytes > options.maxSampleBytes) {
        throw badFormat(source.name, `its header has ${bytes} bytes (option maxSampleBytes)`);
      }
      return {
        file: source.name,
        cells: cellsOf(await source.read(0, bytes), options, source.name),
      };
    }),
  );
  const [first, ...others] = headers as [(typeof headers)[number], ...typeof headers];
  const other = others.find(({ cells }) => cells.join('\n') !== first.cells.join('\n'));
  if (!other) return first.cells;
  const columns = `${first.cells.join(', ')}, and those of ${other.file} are ${other.cells.join(', ')}`;
  throw badFormat(other.file, `its columns differ: those of ${first.file} are ${columns}`);
}
