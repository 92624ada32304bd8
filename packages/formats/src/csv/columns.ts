import * as z from 'zod';
import { shaped, type ShapedArray } from '../samples/shaped-array.js';
import { badColumn, badFormat, type SamplePlace } from '../errors.js';

type ColumnDtype = 'float32' | 'int32' | 'bool' | 'string';

/** How cells become a value of the sample. */
export interface ColumnSpec {
  /** `bool`: `true`, `false`, `1` or `0`, in any case. */
  readonly dtype: ColumnDtype;
  /** The column, or several ones that become a list. Default: the column of the same name. */
  readonly from?: string | readonly string[];
  /** The value of empty cells. Default: an empty cell is an error, except for strings. */
  readonly default?: number | boolean;
}

export type ColumnSpecs = Readonly<Record<string, ColumnDtype | ColumnSpec>>;

const dtype = z.enum(['float32', 'int32', 'bool', 'string']);

export const columnsSchema = z.record(
  z.string(),
  z.union([
    dtype,
    z.strictObject({
      dtype,
      from: z.union([z.string(), z.array(z.string()).min(1).readonly()]).optional(),
      default: z.union([z.number(), z.boolean()]).optional(),
    }),
  ]),
);

export type ResolvedColumns = Readonly<z.infer<typeof columnsSchema>>;

/** Makes a sample of the cells of a row. */
export type RowReader = (cells: readonly string[], place: SamplePlace) => Record<string, unknown>;

/**
 * @param header The names of all columns.
 * @throws AccError `ACC_DATA_COLUMN` if a column is missing.
 */
export function rowReader(
  header: readonly string[],
  columns: ResolvedColumns | undefined,
  file: string,
): RowReader {
  const specs = columns ?? Object.fromEntries(header.map((name) => [name, 'string' as const]));
  const readers = Object.entries(specs).map(([name, given]) => {
    const spec = typeof given === 'string' ? { dtype: given } : given;
    return [name, valueReader(spec, positionsOf(name, spec.from ?? name, header, file))] as const;
  });
  return (cells, place) => {
    if (cells.length !== header.length) {
      throw badFormat(place, `it has ${cells.length} cells, and the file has ${header.length} columns`);
    }
    return Object.fromEntries(readers.map(([name, read]) => [name, read(cells, place)]));
  };
}

interface Position {
  readonly name: string;
  readonly at: number;
}

function positionsOf(
  name: string,
  from: string | readonly string[],
  header: readonly string[],
  file: string,
): Position | readonly Position[] {
  const find = (column: string) => {
    const at = header.indexOf(column);
    if (at >= 0) return { name: column, at };
    throw badColumn(
      file,
      `it has no column '${column}' (for '${name}'); its columns are ${header.join(', ')}`,
    );
  };
  return typeof from === 'string' ? find(from) : from.map(find);
}

type ValueReader = (cells: readonly string[], place: SamplePlace) => unknown;

function valueReader(
  spec: { readonly dtype: ColumnDtype; readonly default?: number | boolean | undefined },
  positions: Position | readonly Position[],
): ValueReader {
  const parse = PARSERS[spec.dtype];
  const cell = (cells: readonly string[], { name, at }: Position, place: SamplePlace) => {
    const text = cells[at]!;
    if (text === '' && spec.default !== undefined) return spec.default;
    const value = parse(text);
    if (value !== undefined) return value;
    const what = text === '' ? 'is empty' : `has the value ${JSON.stringify(text.slice(0, 40))}`;
    throw badColumn(place, `the column '${name}' ${what}, which is no ${spec.dtype}`, {
      ...(text === '' && { help: 'Give the column a default for empty cells.' }),
    });
  };
  if (!('length' in positions)) {
    if (spec.dtype !== 'int32') return (cells, place) => cell(cells, positions, place);
    return (cells, place) => int32(cell(cells, positions, place) as number);
  }
  return (cells, place) => {
    const values = positions.map((position) => cell(cells, position, place));
    if (spec.dtype === 'int32') return Int32Array.from(values as number[]);
    return spec.dtype === 'float32' ? Float32Array.from(values as number[]) : values;
  };
}

const int32 = (value: number): ShapedArray => shaped(Int32Array.of(value), []);

/** Undefined: the text is no value of the dtype. */
const PARSERS: Readonly<Record<ColumnDtype, (text: string) => string | number | boolean | undefined>> = {
  string: (text) => text,
  float32: (text) => numberOf(text),
  int32(text) {
    const value = numberOf(text);
    return value === undefined || value !== (value | 0) ? undefined : value;
  },
  bool: (text) => BOOLS[text.trim().toLowerCase()],
};

const BOOLS: Readonly<Record<string, boolean>> = { true: true, false: false, 1: true, 0: false };
const NOT_FINITE: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, '-inf': -Infinity };

function numberOf(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const value = Number(trimmed);
  return Number.isNaN(value) ? NOT_FINITE[trimmed.toLowerCase()] : value;
}
