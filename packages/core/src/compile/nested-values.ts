import { Tensor, Variable } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';

/** An array or record of tensors and plain values, nested as one likes, taken apart. */
export interface Parts {
  /** Each tensor object once, in the order in which it is met. */
  readonly tensors: readonly Tensor[];
  /**
   * All but the values of the tensors: equal for two structures whose tensors agree in shapes and dtypes, and in which of
   * them share their data or are one variable.
   */
  readonly key: string;
  /** What neither is a tensor nor can be part of the key: undefined where there is nothing. */
  readonly foreign: string | undefined;
}

/** Takes arguments or results apart. */
export function partsOf(value: unknown): Parts {
  const tensors: Tensor[] = [];
  const places = new Map<object, number>();
  let foreign: string | undefined;

  function keyOf(part: unknown): string {
    if (part instanceof Tensor) return keyOfTensor(part);
    if (Array.isArray(part)) return `[${part.map(keyOf).join()}]`;
    if (isPlainRecord(part)) {
      const fields = Object.entries(part).map(([name, field]) => `${JSON.stringify(name)}:${keyOf(field)}`);
      return `{${fields.join()}}`;
    }
    if (isPlain(part)) return plainKey(part);
    foreign ??= typeof part === 'object' ? part!.constructor.name : typeof part;
    return '?';
  }

  function keyOfTensor(tensor: Tensor): string {
    if (!tensors.includes(tensor)) tensors.push(tensor);
    if (tensor instanceof Variable) return `v${tensor.id}`;
    const known = places.get(tensor.dataId);
    if (known === undefined) places.set(tensor.dataId, places.size);
    return `${tensor.dtype}${tensor.shape.join('x')}${known === undefined ? '' : `@${known}`}`;
  }

  return { key: keyOf(value), tensors, foreign };
}

/** The structure of `value` with `replace(tensor)` in the place of each tensor. */
export function withTensors<T>(value: T, replace: (tensor: Tensor) => Tensor): T {
  if (value instanceof Tensor) return replace(value) as T;
  if (Array.isArray(value)) return value.map((part) => withTensors<unknown>(part, replace)) as T;
  if (!isPlainRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, withTensors(field, replace)]),
  ) as T;
}

type Plain = string | number | bigint | boolean | null | undefined;

function isPlain(value: unknown): value is Plain {
  return value == null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

function plainKey(value: Plain): string {
  if (typeof value === 'string') return JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : `${typeof value === 'bigint' ? 'n' : ''}${value}`;
}
