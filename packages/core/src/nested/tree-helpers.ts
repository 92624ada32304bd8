import { concat, slice, zeros, Tensor, type DataType } from '@tensorflow/tfjs-core';
import { AccError, isPlainRecord } from '@acc/contract';
import { containsTensors, describe, mapLeaves, mapNested, type Nested } from '@acc/tape';

/** The shape and dtype of a tensor. */
export interface TensorInformation {
  readonly shape: readonly number[];
  readonly dtype: DataType;
}

/** A structure with one entry in place of each tensor. */
export type InPlaceOfTensors<T, Entry> = T extends Tensor
  ? Entry
  : T extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? { -readonly [K in keyof T]: InPlaceOfTensors<T[K], Entry> }
    : never;

/** The argument of `initializeTensors`: results of `getDataStructure`, in arrays and records. */
export type DataStructure =
  TensorInformation | readonly DataStructure[] | { readonly [key: string]: DataStructure };

/**
 * Applies a function to each tensor of arrays and records. Returns the same structure with its
 * results, which the caller disposes.
 *
 * @throws AccError `ACC_NOT_A_TENSOR` with the path of a value that is not a tensor.
 */
export function recursivelyApply<T extends Nested>(fn: (x: Tensor) => Tensor, values: T): T {
  return mapNested(values, fn);
}

/**
 * Returns the size of dim 0 of the first tensor in arrays and records, in the order of their keys.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` if there is no tensor, or the first is a scalar.
 */
export function findBatchSize(values: Nested): number {
  const size = firstTensor(values)?.shape[0];
  if (size !== undefined) return size;
  throw new AccError('ACC_INVALID_ARGUMENT', 'findBatchSize: there is no tensor with a dim 0.', {
    help: 'Pass a batch: a tensor of rank 1 and above, or arrays and records of them.',
  });
}

/**
 * Joins structures with the same keys, tensor by tensor. The caller disposes the result.
 *
 * @param dim The dimension along which tensors are joined. The other sizes are the same.
 * @throws AccError `ACC_INVALID_ARGUMENT` for an empty list, and for structures that differ.
 */
export function concatenate<T extends Nested>(list: readonly T[], dim = 0): T {
  if (list.length === 0) throw differ('the list is empty');
  const paths = list.map(pathsOf);
  for (const [i, own] of paths.entries()) {
    if (own.join() !== paths[0]!.join())
      throw differ(`item ${i} has tensors at ${shown(own)}, item 0 at ${shown(paths[0]!)}`);
  }
  const tensors = list.map(tensorsOf);
  let next = 0;
  return mapNested(list[0]!, () => {
    const place = next++;
    return concat(
      tensors.map((own) => own[place]!),
      dim,
    );
  });
}

/**
 * Takes rows of each tensor: those from `start` up to `end`, which is not included, as
 * `Array.prototype.slice` does. The caller disposes the result.
 *
 * @throws AccError `ACC_NOT_A_TENSOR`; `ACC_INVALID_ARGUMENT` for a scalar.
 */
export function sliceTensors<T extends Nested>(values: T, start: number, end?: number): T {
  return mapNested(values, (x) => {
    const [rows] = x.shape;
    if (rows === undefined) throw noRows();
    const first = rowAt(start, rows);
    return slice(x, first, Math.max(0, rowAt(end ?? rows, rows) - first));
  });
}

/** A row from 0 to `rows`. Negative numbers count from the end. */
function rowAt(place: number, rows: number): number {
  const whole = Math.trunc(place) || 0;
  return Math.min(rows, Math.max(0, whole < 0 ? rows + whole : whole));
}

function noRows(): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', 'sliceTensors: a scalar has no rows.', {
    help: 'Pass tensors of rank 1 and above, or arrays and records of them.',
  });
}

/** Returns the values of each tensor as numbers in nested arrays. It waits for the device. */
export function listify<T extends Nested>(values: T): InPlaceOfTensors<T, unknown> {
  return inPlaceOfTensors(values, (x) => x.arraySync());
}

/** Returns the shape and dtype of each tensor. */
export function getDataStructure<T extends Nested>(values: T): InPlaceOfTensors<T, TensorInformation> {
  return inPlaceOfTensors(values, ({ shape, dtype }) => ({ shape: [...shape], dtype }));
}

/** Creates tensors of zeros with the shapes and dtypes of a structure. The caller disposes them. */
export function initializeTensors<S extends DataStructure>(structure: S): Nested {
  const isLeaf = (value: unknown) => !Array.isArray(value) && (!isPlainRecord(value) || isInformation(value));
  return mapLeaves(structure, isLeaf, (leaf, where) => {
    if (isInformation(leaf)) return zeros([...leaf.shape], leaf.dtype as 'float32');
    throw new AccError(
      'ACC_INVALID_ARGUMENT',
      `Expected { shape, dtype }${at(where)}, got ${describe(leaf)}.`,
      {
        help: 'Pass a result of getDataStructure.',
      },
    );
  }) as Nested;
}

function isInformation(value: unknown): value is TensorInformation {
  const { shape, dtype } = (value ?? {}) as Partial<TensorInformation>;
  return Array.isArray(shape) && typeof dtype === 'string';
}

function firstTensor(values: Nested): Tensor | undefined {
  if (values instanceof Tensor) return values;
  const inner = Array.isArray(values) ? (values as readonly Nested[]) : Object.values(values);
  const first = inner.find(containsTensors);
  return first && firstTensor(first);
}

/** @throws AccError `ACC_NOT_A_TENSOR`. */
function inPlaceOfTensors<T extends Nested, Entry>(
  values: T,
  entryOf: (x: Tensor) => Entry,
): InPlaceOfTensors<T, Entry> {
  return mapNested(values, (x) => entryOf(x) as never) as InPlaceOfTensors<T, Entry>;
}

function tensorsOf(values: Nested): Tensor[] {
  const tensors: Tensor[] = [];
  mapNested(values, (x) => (tensors.push(x), x));
  return tensors;
}

function pathsOf(values: Nested): string[] {
  const paths: string[] = [];
  const isLeaf = (value: unknown) => !Array.isArray(value) && !isPlainRecord(value);
  mapLeaves(values, isLeaf, (_, where) => paths.push(where));
  return paths;
}

const at = (where: string) => where && ` at '${where}'`;
const shown = (paths: readonly string[]) => paths.map((path) => path || 'the top').join(', ') || 'no place';

function differ(problem: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `concatenate: ${problem}.`, {
    help: 'Pass a list of tensors, or of arrays and records with the same keys.',
  });
}
