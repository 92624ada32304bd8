import * as z from 'zod';
import { badColumn } from '../errors.js';
import { fileOptions, type FileDatasetOptions } from '../file-options.js';
import { columnOptions, type Column, type ColumnOptions } from './column-values.js';

/** Options of datasets whose files have columns. */
export interface ColumnarOptions<Sample = unknown, Mapped = Sample>
  extends ColumnOptions, Pick<FileDatasetOptions<Sample, Mapped>, 'map' | 'http'> {
  /** The columns of a sample. Default: all of them. */
  readonly columns?: readonly string[];
}

export const columnarSchema = z.object({
  map: fileOptions.map,
  http: fileOptions.http,
  columns: z.array(z.string()).min(1).readonly().optional(),
  ...columnOptions,
});

interface FileColumns {
  readonly file: string;
  readonly columns: readonly Column[];
}

/** @throws AccError `ACC_DATA_COLUMN` unless both files have the same columns. */
export function requireSameColumns(first: FileColumns, other: FileColumns): void {
  const [expected, given] = [describe(first.columns), describe(other.columns)];
  if (expected === given) return;
  throw badColumn(other.file, `its columns are ${given}, and those of ${first.file} are ${expected}`, {
    help: 'All files of a dataset have the same columns. Name those that they share in columns.',
  });
}

function describe(columns: readonly Column[]): string {
  return columns.map(({ name, kind }) => `${name}: ${'list of '.repeat(kind.depth)}${kind.of}`).join(', ');
}
