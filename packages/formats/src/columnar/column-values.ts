import * as z from 'zod';
import { shaped } from '../samples/shaped-array.js';
import { badColumn, type SamplePlace } from '../errors.js';

/** The kind of a column's values, below `depth` levels of lists. */
export interface ColumnKind {
  readonly of: 'int' | 'float' | 'bool' | 'string' | 'bytes' | 'time' | 'other';
  readonly depth: number;
}

export interface ColumnOptions {
  /**
   * `int32` (default): integers become tensors of the dtype int32, and larger values are refused.
   * `number`: numbers of JavaScript, which become float32 in batches; values beyond 2^53 are refused.
   */
  readonly integers?: 'int32' | 'number';
  /** The values of samples in which a column is null, by column. Default: such a sample is an error. */
  readonly defaults?: Readonly<Record<string, number | string | boolean>>;
}

/** The schema of {@link ColumnOptions}, to be extended. */
export const columnOptions = {
  integers: z.enum(['int32', 'number']).default('int32'),
  defaults: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])).default({}),
};

export interface ResolvedColumnOptions {
  readonly integers: 'int32' | 'number';
  readonly defaults: Readonly<Record<string, number | string | boolean>>;
}

/** A column, and how its values are converted. */
export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
}

/**
 * The value of a sample. Integers are int32 scalars or numbers, floats and decimals numbers, and lists
 * of them typed arrays; nested lists are shaped arrays.
 *
 * @param given As the reader of the format gives it.
 * @throws AccError `ACC_DATA_COLUMN`.
 */
export function columnValue(
  { name, kind }: Column,
  given: unknown,
  { integers, defaults }: ResolvedColumnOptions,
  place: SamplePlace,
): unknown {
  const value = given ?? defaults[name];
  if (value === undefined || value === null) {
    throw badColumn(place, `the column '${name}' is null`, {
      help: `Give its value in defaults: { ${name}: … }, or leave it out of columns.`,
    });
  }
  if (kind.depth > 0) return listValue({ name, kind }, value, place);
  if (kind.of === 'float') return Number(value);
  if (kind.of !== 'int') return kind.of === 'other' ? plainIntegers(name, value, place) : value;
  if (integers === 'number') return safeInteger(name, value, place);
  return shaped(Int32Array.of(int32(name, value, place)), []);
}

function listValue({ name, kind }: Column, value: unknown, place: SamplePlace): unknown {
  if (kind.of !== 'int' && kind.of !== 'float') return value;
  const { shape, items } = flattened(name, value, kind.depth, place);
  const element = (item: unknown): number => {
    if (item === null || item === undefined)
      throw badColumn(place, `a list of the column '${name}' has a null`);
    return kind.of === 'int' ? int32(name, item, place) : Number(item);
  };
  const data = kind.of === 'int' ? Int32Array.from(items, element) : Float32Array.from(items, element);
  return kind.depth === 1 ? data : shaped(data, shape);
}

/** The items of nested lists, all of whose lengths are equal in each level. */
function flattened(name: string, value: unknown, depth: number, place: SamplePlace) {
  let items: ArrayLike<unknown> = value as ArrayLike<unknown>;
  const shape = [items.length];
  for (let level = 1; level < depth; level++) {
    const lists = Array.from(items) as (ArrayLike<unknown> | null)[];
    const length = lists[0]?.length ?? 0;
    if (lists.some((list) => list?.length !== length)) {
      throw badColumn(place, `the lists in the column '${name}' have different lengths`);
    }
    shape.push(length);
    items = lists.flatMap((list) => Array.from(list!));
  }
  return { shape, items };
}

function int32(name: string, value: unknown, place: SamplePlace): number {
  const number = Number(value);
  if ((number | 0) === number) return number;
  throw badColumn(place, `the column '${name}' has the value ${String(value)}, which does not fit in int32`, {
    help: "Tensors of tfjs have int32. With integers: 'number' such values become numbers, and float32 in batches.",
  });
}

function safeInteger(name: string, value: unknown, place: SamplePlace): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw badColumn(place, `the column '${name}' has the value ${String(value)}, which is beyond 2^53`, {
    help: 'A number of JavaScript cannot hold it. Write such a column as strings.',
  });
}

/** Records and lists of them: without bigints, which cannot be part of a batch. */
function plainIntegers(name: string, value: unknown, place: SamplePlace): unknown {
  if (typeof value === 'bigint') return safeInteger(name, value, place);
  if (Array.isArray(value)) return value.map((item) => plainIntegers(name, item, place));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || value instanceof Date)
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, plainIntegers(name, item, place)]),
  );
}
