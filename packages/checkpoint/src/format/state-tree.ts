import { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type StateArray } from '@acc/contract';
import { arrayNameOf, type ArrayName } from './dtypes.js';

/** Plain JSON in which tensors and typed arrays stand as references. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What JSON has no form for: an object with this one key. */
const TAG = '$acc';

type Tagged =
  | { readonly kind: 'tensor'; readonly name: string }
  | { readonly kind: 'array'; readonly name: string; readonly type: ArrayName }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'object'; readonly entries: Readonly<Record<string, Json>> };

/** A tensor or a typed array of a tree, under the name that stands for it. */
export interface Leaf<T> {
  readonly name: string;
  readonly value: T;
}

/** What a tree consists of. */
export interface EncodedTree {
  readonly json: Json;
  readonly tensors: readonly Leaf<Tensor>[];
  readonly arrays: readonly Leaf<StateArray>[];
}

/**
 * Takes tensors and typed arrays out of a tree.
 *
 * @param root What names begin with; the way to the value follows, with slashes.
 * @param nameOf A better name for a tensor, if there is one. Names are unique.
 * @throws AccError `ACC_STATE_INVALID` for what a checkpoint can't hold.
 */
export function encodeTree(
  tree: unknown,
  root: string,
  nameOf: (tensor: Tensor) => string | undefined,
): EncodedTree {
  const encoder = new Encoder(nameOf);
  const json = tree === undefined ? null : encoder.encode(tree, root);
  return { json, tensors: encoder.tensors, arrays: encoder.arrays };
}

class Encoder {
  readonly tensors: Leaf<Tensor>[] = [];
  readonly arrays: Leaf<StateArray>[] = [];
  /** What the value that is encoded lies in. */
  readonly #above = new Set<object>();

  constructor(private readonly nameOf: (tensor: Tensor) => string | undefined) {}

  encode(value: unknown, where: string): Json {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : tagged({ kind: 'number', text: Object.is(value, -0) ? '-0' : String(value) });
      case 'object':
        return value === null ? null : this.#object(value, where);
      default:
        throw cannotKeep(where, `a ${typeof value}`);
    }
  }

  #object(value: object, where: string): Json {
    if (value instanceof Tensor) {
      const name = this.nameOf(value) ?? where;
      this.tensors.push({ name, value });
      return tagged({ kind: 'tensor', name });
    }
    const type = arrayNameOf(value);
    if (type) {
      this.arrays.push({ name: where, value: value as StateArray });
      return tagged({ kind: 'array', name: where, type });
    }
    if (this.#above.has(value)) throw cannotKeep(where, 'itself, in a circle');
    this.#above.add(value);
    const json = this.#children(value, where);
    this.#above.delete(value);
    return json;
  }

  #children(value: object, where: string): Json {
    if (Array.isArray(value)) {
      return value.map((each: unknown, i) =>
        each === undefined ? null : this.encode(each, `${where}/${i}`),
      );
    }
    const prototype = Object.getPrototypeOf(value) as unknown;
    if (prototype !== Object.prototype && prototype !== null) {
      throw cannotKeep(where, `a ${value.constructor?.name ?? 'class instance'}`);
    }
    // A key `__proto__` is data, never the prototype.
    const entries = Object.fromEntries(
      Object.entries(value).flatMap(([key, child]: [string, unknown]) =>
        child === undefined ? [] : [[key, this.encode(child, `${where}/${key}`)]],
      ),
    ) as Record<string, Json>;
    return TAG in entries ? tagged({ kind: 'object', entries }) : entries;
  }
}

const tagged = (tag: Tagged): Json => ({ [TAG]: tag });

/** What stands for tensors and arrays of a tree that is read. */
export interface Readers<T> {
  tensor(name: string): T;
  array(name: string, type: ArrayName): T;
}

/** The tree again, with what `readers` give in the place of tensors and arrays. */
export function decodeTree<T>(json: Json, readers: Readers<T>): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return (json as Json[]).map((each) => decodeTree(each, readers));
  const { [TAG]: tag } = json as unknown as { readonly [TAG]?: Tagged };
  if (tag === undefined) return decodeEntries(json as Record<string, Json>, readers);
  switch (tag.kind) {
    case 'tensor':
      return readers.tensor(tag.name);
    case 'array':
      return readers.array(tag.name, tag.type);
    case 'number':
      return Number(tag.text);
    case 'object':
      return decodeEntries(tag.entries, readers);
  }
}

/** A key `__proto__` of a file is data, never the prototype: so it is with fromEntries. */
function decodeEntries<T>(entries: Readonly<Record<string, Json>>, readers: Readers<T>): object {
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, decodeTree(value, readers)]));
}

function cannotKeep(where: string, what: string): AccError {
  return new AccError('ACC_STATE_INVALID', `A checkpoint cannot keep ${what}, which stands at '${where}'.`, {
    help: 'States are made of plain objects and arrays, numbers, strings, booleans, null, typed arrays and tensors.',
    details: { where },
  });
}
