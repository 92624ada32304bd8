import { Tensor } from '@tensorflow/tfjs-core';
import { AccError, isPlainRecord } from '@acc/contract';

/** A tensor, or arrays and records of such. */
export type Nested = Tensor | readonly Nested[] | { readonly [key: string]: Nested };

/**
 * The same structure with each tensor replaced by what `map` gives for it.
 *
 * @throws AccError `ACC_NOT_A_TENSOR` for anything else at a leaf, naming where it is.
 */
export function mapNested<T extends Nested>(value: T, map: (tensor: Tensor) => Tensor): T {
  const isLeaf = (inner: unknown) => !Array.isArray(inner) && !isPlainRecord(inner);
  return mapLeaves(value, isLeaf, (leaf, where) => {
    if (leaf instanceof Tensor) return map(leaf);
    throw new AccError(
      'ACC_NOT_A_TENSOR',
      `Expected a tensor${where && ` at '${where}'`}, got ${describe(leaf)}.`,
      {
        help: 'Pass tensors, or arrays and records of tensors; use gatherObject or broadcastObject for other values.',
      },
    );
  }) as T;
}

/**
 * The same structure with each leaf replaced by what `map` gives for it. `map` is called in the sorted order of keys, so that
 * ranks whose records have their keys in another order call alike; the result has them in the caller's order.
 *
 * @param isLeaf False only for arrays and records.
 */
export function mapLeaves(
  value: unknown,
  isLeaf: (value: unknown) => boolean,
  map: (leaf: unknown, where: string) => unknown,
  where = '',
): unknown {
  if (isLeaf(value)) return map(value, where);
  if (Array.isArray(value)) return value.map((item, i) => mapLeaves(item, isLeaf, map, `${where}[${i}]`));
  const record = value as Record<string, unknown>;
  const keys = Object.keys(record);
  const mapped = new Map(
    keys.toSorted().map((key) => [key, mapLeaves(record[key], isLeaf, map, where ? `${where}.${key}` : key)]),
  );
  return Object.fromEntries(keys.map((key) => [key, mapped.get(key)]));
}

/** Whether there is a tensor in arrays and records. */
export function holdsTensors(value: unknown): boolean {
  if (value instanceof Tensor) return true;
  if (Array.isArray(value)) return value.some(holdsTensors);
  return isPlainRecord(value) && Object.values(value).some(holdsTensors);
}

/** What a value is, for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `${typeof value} ${String(value)}`;
  const name = value.constructor?.name ?? 'object';
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;
}
