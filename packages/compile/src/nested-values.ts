import { Tensor, Variable } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';

/** The tensors of a nested array or record, and a key for everything else in it. */
export interface Flattened {
  /** Each tensor object once, in the order of first occurrence. */
  readonly tensors: readonly Tensor[];
  /**
   * A key for everything except the values of tensors. Two structures have the same key if their
   * tensors have the same shapes and dtypes, and the same tensors share data or are the same
   * variable.
   */
  readonly key: string;
  /**
   * The key without the sizes of tensors that are not variables. Each shape is replaced by the rank
   * between two {@link SHAPE_MARK}s.
   */
  readonly kind: string;
  /** The left out sizes, shape by shape. */
  readonly sizes: readonly number[];
  /**
   * The description of a value that is neither a tensor nor possible in the key. Undefined if there
   * is none.
   */
  readonly foreign: string | undefined;
}

/** JSON escapes this character, so plain values never contain it. */
export const SHAPE_MARK = '\u0000';

/** Flattens arguments or results. */
export function flatten(value: unknown): Flattened {
  const tensors: Tensor[] = [];
  const places = new Map<object, number>();
  const shapes: (readonly number[])[] = [];
  let foreign: string | undefined;

  function keyOf(item: unknown): string {
    if (item instanceof Tensor) return keyOfTensor(item);
    if (Array.isArray(item)) return `[${item.map(keyOf).join()}]`;
    if (isPlainRecord(item)) {
      const fields = Object.entries(item).map(([name, field]) => `${JSON.stringify(name)}:${keyOf(field)}`);
      return `{${fields.join()}}`;
    }
    if (isPlain(item)) return plainKey(item);
    foreign ??= typeof item === 'object' ? item!.constructor.name : typeof item;
    return '?';
  }

  function keyOfTensor(tensor: Tensor): string {
    if (!tensors.includes(tensor)) tensors.push(tensor);
    if (tensor instanceof Variable) return `v${tensor.id}`;
    const known = places.get(tensor.dataId);
    if (known === undefined) places.set(tensor.dataId, places.size);
    shapes.push(tensor.shape);
    const shape = `${SHAPE_MARK}${tensor.rank}${SHAPE_MARK}`;
    return `${tensor.dtype}${shape}${known === undefined ? '' : `@${known}`}`;
  }

  const kind = keyOf(value);
  const sizes = shapes.flat();
  return { key: `${kind}|${sizes.join()}`, kind, sizes, tensors, foreign };
}

/** Copies the structure of `value` with `replace(tensor)` instead of each tensor. */
export function withTensors<T>(value: T, replace: (tensor: Tensor) => Tensor): T {
  if (value instanceof Tensor) return replace(value) as T;
  if (Array.isArray(value)) return value.map((item) => withTensors<unknown>(item, replace)) as T;
  if (!isPlainRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, withTensors(field, replace)]),
  ) as T;
}

/**
 * Where `after` differs from `before`, a copy of the structure that `withTensors` made: the path of the
 * first array or record whose items are other ones. Undefined if nothing differs.
 */
export function firstChange(before: unknown, after: unknown, path: string): string | undefined {
  if (Object.is(before, after)) return undefined;
  const isList = Array.isArray(before) && Array.isArray(after);
  if (!isList && !(isPlainRecord(before) && isPlainRecord(after))) return path;
  const fields = (value: object) => new Map<string, unknown>(Object.entries(value));
  const [old, now] = [fields(before as object), fields(after as object)];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const place = isList ? `${path}[${name}]` : `${path}.${name}`;
    if (old.has(name) !== now.has(name)) return place;
    const change = firstChange(old.get(name), now.get(name), place);
    if (change !== undefined) return change;
  }
  return undefined;
}

type Plain = string | number | bigint | boolean | null | undefined;

function isPlain(value: unknown): value is Plain {
  return value == null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

function plainKey(value: Plain): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : `${typeof value === 'bigint' ? 'n' : ''}${value}`;
}
