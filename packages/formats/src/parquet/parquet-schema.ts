import {
  parquetSchema,
  type FileMetaData,
  type ParquetType,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet';
import { badColumn } from '../errors.js';
import type { Column, ColumnKind } from '../columnar/column-values.js';

/**
 * The columns of a file that are wanted, in the order of `wanted`.
 *
 * @param wanted Undefined: all columns.
 * @throws AccError `ACC_DATA_COLUMN` if one is missing.
 */
export function columnsOf(
  file: string,
  metadata: FileMetaData,
  wanted: readonly string[] | undefined,
): Column[] {
  const found = new Map(parquetSchema(metadata).children.map((child) => [child.element.name, child]));
  return (wanted ?? [...found.keys()]).map((name) => {
    const tree = found.get(name);
    if (tree) return { name, kind: kindOf(tree) };
    throw badColumn(file, `there is no column '${name}'`, {
      help: `It has ${[...found.keys()].join(', ')}.`,
    });
  });
}

function kindOf(tree: SchemaTree, depth = 0): ColumnKind {
  const { element, children } = tree;
  if (children.length === 0) {
    return { of: valueKind(element), depth: depth + (element.repetition_type === 'REPEATED' ? 1 : 0) };
  }
  const isList = element.converted_type === 'LIST' || element.logical_type?.type === 'LIST';
  const repeated = children[0]!;
  if (!isList || children.length > 1) return { of: 'other', depth: 0 };
  // Lists have three levels: the list, the repeated group, and the element.
  if (repeated.children.length === 0) return kindOf(repeated, depth);
  if (repeated.children.length > 1) return { of: 'other', depth: 0 };
  return kindOf(repeated.children[0]!, depth + 1);
}

/** The meaning that a column was written with. */
const MEANINGS: Readonly<Record<string, ColumnKind['of']>> = {
  ...{ STRING: 'string', UTF8: 'string', ENUM: 'string', UUID: 'string' },
  ...{ DECIMAL: 'float', FLOAT16: 'float' },
  ...{ DATE: 'time', TIMESTAMP: 'time', TIMESTAMP_MILLIS: 'time', TIMESTAMP_MICROS: 'time' },
  ...{ JSON: 'other', VARIANT: 'other', INTERVAL: 'other' },
};

/** How a column is stored. INT96 holds timestamps of old writers. */
const STORED: Readonly<Record<ParquetType, ColumnKind['of']>> = {
  ...{ BOOLEAN: 'bool', INT32: 'int', INT64: 'int', INT96: 'time', FLOAT: 'float', DOUBLE: 'float' },
  ...{ BYTE_ARRAY: 'bytes', FIXED_LEN_BYTE_ARRAY: 'bytes' },
};

function valueKind({
  type,
  converted_type: converted,
  logical_type: logical,
}: SchemaElement): ColumnKind['of'] {
  return MEANINGS[logical?.type ?? converted ?? ''] ?? STORED[type!];
}
