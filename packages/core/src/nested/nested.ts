import { Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';

/** A tensor, or arrays and records of such. */
export type Nested = Tensor | readonly Nested[] | { readonly [key: string]: Nested };

/**
 * The same structure with each tensor replaced by what `map` gives for it.
 *
 * @throws AccError `ACC_NOT_A_TENSOR` for anything else at a leaf, naming where it is.
 */
export function mapNested<T extends Nested>(value: T, map: (tensor: Tensor) => Tensor, where = ''): T {
  if (value instanceof Tensor) return map(value) as T;
  if (Array.isArray(value))
    return value.map((item, i) => mapNested(item, map, `${where}[${i}]`)) as unknown as T;
  if (isRecord(value)) {
    // By key, so that ranks whose records were filled in another order call alike.
    const mapped = Object.keys(value)
      .sort()
      .map((key) => [key, mapNested(value[key] as Nested, map, where ? `${where}.${key}` : key)]);
    return Object.fromEntries(mapped) as T;
  }
  throw new AccError(
    'ACC_NOT_A_TENSOR',
    `Expected a tensor${where && ` at '${where}'`}, got ${describe(value)}.`,
    {
      help: 'Pass tensors, or arrays and records of tensors; use gatherObject or broadcastObject for other values.',
    },
  );
}

/** A plain one, not an object of a class. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** What a value is, for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `${typeof value} ${String(value)}`;
  const name = value.constructor?.name ?? 'object';
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;
}
