import { parquetSchema, type ColumnMetaData, type FileMetaData, type SchemaTree } from 'hyparquet';

/** The bytes of a column in a row group: `[start, end)` in the file. */
export interface ChunkRange {
  readonly start: number;
  readonly end: number;
}

/** The chunk with the pages of a column. Writers may leave the place of the dictionary out. */
export function rangeOf({ dictionary_page_offset, data_page_offset, total_compressed_size }: ColumnMetaData) {
  const start = Number(dictionary_page_offset || data_page_offset);
  return { start, end: start + Number(total_compressed_size) };
}

/** The columns with values, in the order in which row groups have them: paths from the root. */
export function leavesOf(tree: SchemaTree, above: readonly SchemaTree[] = []): SchemaTree[][] {
  const path = [...above, tree];
  return tree.children.length === 0 ? [path] : tree.children.flatMap((child) => leavesOf(child, path));
}

/**
 * Checks the rows and the places of columns that a footer states against the size of the file.
 *
 * @throws RangeError
 */
export function checkFooter(metadata: FileMetaData, fileBytes: number, maxGroupValues: number): void {
  const leaves = leavesOf(parquetSchema(metadata));
  const names = leaves.map((path) => {
    const { type, name } = path.at(-1)!.element;
    if (type === undefined) throw new RangeError(`the column '${name}' has no type`);
    return path.at(-1)!.path.join('.');
  });
  metadata.row_groups.forEach((group, i) => {
    count(`rows of row group ${i}`, group.num_rows, maxGroupValues, 'maxGroupValues');
    if (group.columns.length !== names.length) {
      throw new RangeError(
        `row group ${i} has ${group.columns.length} columns, and the file ${names.length}`,
      );
    }
    group.columns.forEach(({ meta_data: data }, column) => {
      const name = names[column]!;
      if (data?.path_in_schema.join('.') !== name || data.type !== leaves[column]!.at(-1)!.element.type) {
        throw new RangeError(`column ${column} of row group ${i} is not '${name}'`);
      }
      const { start } = rangeOf(data);
      count(`values of '${name}'`, data.num_values, maxGroupValues, 'maxGroupValues');
      count(`the first byte of '${name}'`, start, fileBytes);
      count(`bytes of '${name}'`, data.total_compressed_size, fileBytes - start);
    });
  });
}

function count(what: string, stated: unknown, most: number, option?: string): void {
  const value = Number(stated);
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return;
  throw new RangeError(
    `${what}: ${String(stated)}, and there can be ${most}${option ? ` (option ${option})` : ''}`,
  );
}
