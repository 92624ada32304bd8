import type * as Arrow from 'apache-arrow';
import { badColumn } from '../errors.js';
import type { Column, ColumnKind } from '../columnar/column-values.js';
import type { ArrowModule } from './arrow-layout.js';

/**
 * The columns that are wanted, in the order of `wanted`.
 *
 * @param wanted Undefined: all columns.
 * @throws AccError `ACC_DATA_COLUMN` if one is missing, or has a type that cannot be read.
 */
export function arrowColumns(
  arrow: ArrowModule,
  file: string,
  schema: Arrow.Schema,
  wanted: readonly string[] | undefined,
): Column[] {
  const found = new Map(schema.fields.map((field) => [field.name, field]));
  return (wanted ?? [...found.keys()]).map((name) => {
    const field = found.get(name);
    if (!field) {
      throw badColumn(file, `there is no column '${name}'`, {
        help: `It has ${[...found.keys()].join(', ')}.`,
      });
    }
    const kind = kindOf(arrow, field.type, 0);
    if (kind) return { name, kind };
    throw badColumn(file, `the column '${name}' has the type ${String(field.type)}, which is not supported`, {
      help: 'Leave it out of columns, or write it as another type.',
    });
  });
}

function kindOf({ DataType }: ArrowModule, type: Arrow.DataType, depth: number): ColumnKind | undefined {
  if (DataType.isDictionary(type)) return kindOf({ DataType } as ArrowModule, type.dictionary, depth);
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type)) {
    return kindOf({ DataType } as ArrowModule, type.children[0]!.type, depth + 1);
  }
  const tests: [ColumnKind['of'], boolean][] = [
    ['int', DataType.isInt(type)],
    ['float', DataType.isFloat(type)],
    ['bool', DataType.isBool(type)],
    ['string', DataType.isUtf8(type) || DataType.isLargeUtf8(type)],
    ['bytes', DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isFixedSizeBinary(type)],
    ['time', DataType.isTimestamp(type) || DataType.isDate(type)],
  ];
  const of = tests.find(([, isIt]) => isIt)?.[0];
  return of && { of, depth };
}

/** A value of a vector as lists, numbers, strings, dates: without objects of the library. */
export function plainValue(kind: ColumnKind, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (kind.depth > 0) {
    const inner = { ...kind, depth: kind.depth - 1 };
    return Array.from(value as Iterable<unknown>, (item) => plainValue(inner, item));
  }
  return kind.of === 'time' ? new Date(Number(value)) : value;
}
