import type { Tensor } from '@tensorflow/tfjs-core';
import type { Json, StateArray, StateLayer } from '@acc/contract';
import { arrayOver, dtypeOfArray, type ArrayName } from '../format/dtypes.js';
import { invalid } from '../format/manifest.js';
import { decodeTree } from '../format/state-tree.js';
import type { Checkpoint } from './open.js';
import { describeLocation } from '../location.js';
import { readBytes, readTensors, storedTensor } from './read-tensors.js';

/** A reference to a tensor of a checkpoint that has not been read. */
export class StoredReference {
  constructor(readonly name: string) {}
}

/** A reference to a typed array that has not been read. */
class ArrayReference {
  constructor(
    readonly name: string,
    readonly type: ArrayName,
  ) {}
}

/**
 * A tree of a checkpoint as it was saved. Typed arrays are read. Each tensor is a {@link
 * StoredReference}.
 */
export async function readTree(checkpoint: Checkpoint, json: Json): Promise<unknown> {
  const tree = decoded(checkpoint, json);
  return await replace(tree, async (value) => {
    if (!(value instanceof ArrayReference)) return undefined;
    requireArray(checkpoint, value);
    const array: StateArray = arrayOver(value.type, await readBytes(checkpoint, value.name));
    return array;
  });
}

function decoded({ location }: Checkpoint, json: Json): unknown {
  try {
    return decodeTree<object>(json, {
      tensor: (name) => new StoredReference(name),
      array: (name, type) => new ArrayReference(name, type),
    });
  } catch (cause) {
    throw invalid(`The state in ${describeLocation(location)}`, cause);
  }
}

function requireArray(checkpoint: Checkpoint, { name, type }: ArrayReference): void {
  const { dtype } = storedTensor(checkpoint, name);
  if (dtype === dtypeOfArray(type)) return;
  const problem = new RangeError(`'${name}' has elements of type ${dtype}, which are no ${type}`);
  throw invalid(`The state in ${describeLocation(checkpoint.location)}`, problem);
}

/**
 * A tree in which all remaining tensors have been read. The caller disposes the tensors; `tensors`
 * lists all of them.
 */
export interface ReadTree {
  readonly tree: unknown;
  readonly tensors: readonly Tensor[];
}

export async function readRest(checkpoint: Checkpoint, tree: unknown, layer: StateLayer): Promise<ReadTree> {
  const references: StoredReference[] = [];
  await replace(tree, (value) => {
    if (value instanceof StoredReference) references.push(value);
    return Promise.resolve(undefined);
  });
  const read = await readTensors(checkpoint, references, layer);
  const tensors = read.map((each) => each.toTensor());
  const found = new Map(references.map((reference, i) => [reference, tensors[i]!]));
  const replaced = await replace(tree, (value) =>
    Promise.resolve(value instanceof StoredReference ? found.get(value) : undefined),
  );
  return { tree: replaced, tensors };
}

/**
 * Replaces the objects of a tree for which `replacement` gives a value. If it gives undefined, the
 * object's children are visited.
 */
async function replace(value: unknown, replacement: (value: object) => Promise<unknown>): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value;
  const given = await replacement(value);
  if (given !== undefined) return given;
  if (Array.isArray(value)) return await Promise.all(value.map((each) => replace(each, replacement)));
  if (ArrayBuffer.isView(value) || value instanceof StoredReference) return value;
  const entries = Object.entries(value).map(
    async ([key, child]) => [key, await replace(child, replacement)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}
