import { gather, slice, tensor1d, tidy, Tensor } from '@tensorflow/tfjs-core';
import { AccError, isPlainRecord, type BatchRows } from '@acc/contract';
import { splitRows } from '@acc/data';
import { describe } from '@acc/tape';

/**
 * A value that can be split over processes: a tensor along dim 0, an array as a list, a record
 * value by value.
 */
export type Splittable = Tensor | readonly unknown[] | { readonly [key: string]: Splittable };

/** Options of `Accelerator.splitBetweenProcesses`. */
export interface SplitOptions {
  /** Repeats the last item, so that every process has the same number. Default false. */
  readonly applyPadding?: boolean;
}

interface Process extends SplitOptions {
  readonly rank: number;
  readonly size: number;
}

/**
 * The items of `inputs` for one of the processes, and the number of items of each process. The
 * items are contiguous. If they do not divide evenly, the first processes have one more. The caller
 * disposes `made`, the tensors among the items. Items of an array still belong to their owner.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` for a value that cannot be split, and for values of a
 * record with different numbers of items.
 */
export function shareOf<T extends Splittable>(
  inputs: T,
  process: Process,
): { share: T; made: Tensor[]; rows: BatchRows } {
  const count = countOf(inputs, 'inputs');
  const items = itemsOf(count, process);
  const created: Tensor[] = [];
  const pick = (value: Splittable): Splittable => {
    if (value instanceof Tensor) {
      const rows = rowsOf(value, items);
      created.push(rows);
      return rows;
    }
    if (isList(value)) return items.map((item) => value[item]);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, pick(inner)]));
  };
  return { share: pick(inputs) as T, made: created, rows: rowsOfAll(count, process) };
}

/** The number of items of each process, with and without padding. */
function rowsOfAll(count: number, { size, applyPadding = false }: Process): BatchRows {
  const realRows = splitRows(count, size).map((own) => own.count);
  return { realRows, rows: applyPadding ? realRows.map(() => Math.ceil(count / size)) : realRows };
}

function itemsOf(count: number, { rank, size, applyPadding = false }: Process): number[] {
  const own = splitRows(count, size)[rank]!;
  const items = Array.from({ length: own.count }, (_, i) => own.start + i);
  const wanted = applyPadding ? Math.ceil(count / size) : items.length;
  while (items.length < wanted) items.push(count - 1);
  return items;
}

function rowsOf(x: Tensor, items: readonly number[]): Tensor {
  const [first = 0] = items;
  if (items.every((item, i) => item === first + i)) return slice(x, first, items.length);
  return tidy(() => gather(x, tensor1d([...items], 'int32')));
}

function countOf(value: unknown, where: string): number {
  if (value instanceof Tensor && value.rank > 0) return value.shape[0]!;
  if (isList(value)) return value.length;
  if (!isPlainRecord(value) || Object.keys(value).length === 0) throw notSplittable(value, where);
  const counts = Object.entries(value).map(
    ([key, inner]) => [key, countOf(inner, `${where}.${key}`)] as const,
  );
  const [[, count]] = counts as [[string, number]];
  if (counts.every(([, other]) => other === count)) return count;
  const lines = counts.map(([key, own]) => `  ${where}.${key}: ${own}`);
  throw new AccError(
    'ACC_INVALID_ARGUMENT',
    `Values that are split together have different numbers of items:\n${lines.join('\n')}`,
    {
      help: 'Split each in a separate call.',
    },
  );
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function notSplittable(value: unknown, where: string): AccError {
  const what = value instanceof Tensor ? 'a tensor without dimensions' : describe(value);
  return new AccError('ACC_INVALID_ARGUMENT', `${where} is ${what}, which cannot be split.`, {
    help: 'Give a tensor, an array, or a record of them.',
  });
}
