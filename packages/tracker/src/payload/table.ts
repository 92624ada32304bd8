import type { Cell, TrackedTable } from '@acc/contract';
import { invalidValue } from '../errors.js';
import { show } from './values.js';

/** Columns and rows, or a record for each row. */
export type TableInput = TrackedTable | readonly Readonly<Record<string, Cell>>[];

/**
 * Copies a table.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function takeTable(key: string, input: TableInput): TrackedTable {
  if (typeof key !== 'string')
    throw invalidValue('logTable', `the key is ${show(key)}`, "Write logTable('samples', table).");
  const table = isRecords(input) ? fromRecords(input) : input;
  if (!Array.isArray(table?.columns as unknown) || !Array.isArray(table.rows as unknown)) {
    throw refuse(key, `${show(input)} is not a table`, 'Give { columns, rows }, or an array of records.');
  }
  const columns = table.columns.map(String);
  const rows = table.rows.map((row, i) => {
    if (row.length !== columns.length) {
      throw refuse(key, `row ${i} has ${row.length} cells, for ${columns.length} columns`, 'Fill in null.');
    }
    return row.map((cell, j) => checkedCell(key, cell, `row ${i}, '${columns[j]}'`));
  });
  return { columns, rows };
}

function isRecords(input: TableInput): input is readonly Readonly<Record<string, Cell>>[] {
  return Array.isArray(input);
}

function fromRecords(records: readonly Readonly<Record<string, Cell>>[]): TrackedTable {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  return { columns, rows: records.map((record) => columns.map((column) => record[column] ?? null)) };
}

function checkedCell(key: string, cell: Cell, where: string): Cell {
  if (cell === null || ['string', 'number', 'boolean'].includes(typeof cell)) return cell;
  throw refuse(key, `${where} is ${show(cell)}`, 'Cells must be strings, numbers, booleans or null.');
}

const refuse = (key: string, problem: string, help: string) =>
  invalidValue('logTable', `'${key}': ${problem}`, help);
