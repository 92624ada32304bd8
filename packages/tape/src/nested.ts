import { Tensor } from '@tensorflow/tfjs-core';
import { AccError, isPlainRecord } from '@acc/contract';

/** A tensor, or arrays and records of tensors. */
export type Nested = Tensor | readonly Nested[] | { readonly [key: string]: Nested };

/**
 * Returns the same structure with each tensor replaced by the result of `map`.
 *
 * @throws AccError `ACC_NOT_A_TENSOR` if a leaf is not a tensor. The message gives its path.
 */
export function mapNested<T extends Nested>(value: T, map: (tensor: Tensor) => Tensor): T {
  const isLeaf = (inner: unknown) => !Array.isArray(inner) && !isPlainRecord(inner);
  return mapLeaves(value, isLeaf, (leaf, where) => {
    if (leaf instanceof Tensor) return map(leaf);
    throw new AccError(
      'ACC_NOT_A_TENSOR',
      `Expected a tensor${where && ` at '${where}'`}, got ${describe(leaf)}.`,
      {
        help: 'Pass tensors, or arrays and records of tensors. For other values, use gatherObject or broadcastObject.',
      },
    );
  }) as T;
}

/**
 * Returns the same structure with each leaf replaced by the result of `map`. `map` is called in the
 * sorted order of keys, so that ranks with different key orders make the same calls. The result has
 * the caller's key order.
 *
 * @param isLeaf Must be true for everything except arrays and records.
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

/** Whether arrays and records contain a tensor. */
export function containsTensors(value: unknown): boolean {
  if (value instanceof Tensor) return true;
  if (Array.isArray(value)) return value.some(containsTensors);
  return isPlainRecord(value) && Object.values(value).some(containsTensors);
}

/** A description of a value, for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `${typeof value} ${String(value)}`;
  const name = value.constructor?.name ?? 'object';
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;
}
