import { Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  decodeTagged,
  encodeTagged,
  tagged,
  type Json,
  type StateArray,
  type TaggedJsonRules,
} from '@acc/contract';
import { ARRAY_NAMES, arrayNameOf, type ArrayName } from './dtypes.js';

/** A tensor or typed array of a tree, and the name that replaces it. */
export interface Leaf<T> {
  readonly name: string;
  readonly value: T;
}

/** A tree as JSON, and the tensors and arrays that were taken out of it. */
export interface EncodedTree {
  /** References by name replace tensors and typed arrays. */
  readonly json: Json;
  readonly tensors: readonly Leaf<Tensor>[];
  readonly arrays: readonly Leaf<StateArray>[];
}

/**
 * Replaces tensors and typed arrays in a tree by references.
 *
 * @param root The prefix of all names. The path of the value follows, with slashes.
 * @throws AccError `ACC_STATE_INVALID` for values that a checkpoint cannot hold.
 */
export function encodeTree(tree: unknown, root: string): EncodedTree {
  const tensors: Leaf<Tensor>[] = [];
  const arrays: Leaf<StateArray>[] = [];
  const rules: TaggedJsonRules = {
    encode(value, where) {
      if (typeof value !== 'object' || value === null) return undefined;
      if (value instanceof Tensor) {
        tensors.push({ name: where, value });
        return tagged({ kind: 'tensor', name: where });
      }
      const type = arrayNameOf(value);
      if (!type) return undefined;
      arrays.push({ name: where, value: value as StateArray });
      return tagged({ kind: 'array', name: where, type });
    },
    nameOf: (where, key) => `${where}/${key}`,
    refuse: cannotKeep,
  };
  return { json: encodeTagged(tree, root, rules), tensors, arrays };
}

/** Give the values that replace references to tensors and arrays when a tree is read. */
export interface Readers<T> {
  tensor(name: string): T;
  array(name: string, type: ArrayName): T;
}

/**
 * Decodes the tree and replaces its references by the values that `readers` give.
 *
 * @throws RangeError for JSON that {@link encodeTree} does not write.
 */
export function decodeTree<T>(json: Json, readers: Readers<T>): unknown {
  return decodeTagged(json, ({ kind, name, type }) => {
    if (typeof name !== 'string') throw new RangeError(`a reference of the kind ${kind} has no name`);
    if (kind === 'tensor') return readers.tensor(name);
    const known = ARRAY_NAMES.find((each) => each === type);
    if (kind === 'array' && known) return readers.array(name, known);
    throw new RangeError(`'${name}' is a reference of an unknown kind`);
  });
}

function cannotKeep(where: string, what: string): AccError {
  return new AccError('ACC_STATE_INVALID', `A checkpoint cannot store ${what}, which is at '${where}'.`, {
    help: 'A state may contain plain objects, arrays, numbers, strings, booleans, null, typed arrays and tensors.',
    details: { where },
  });
}
