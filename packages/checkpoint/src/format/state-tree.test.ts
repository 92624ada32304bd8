import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { expect, it } from 'vitest';
import { decodeTree, encodeTree } from './state-tree.js';

/** Encodes and decodes a tree, with names in the place of tensors and arrays. */
function through(tree: unknown) {
  const { json, tensors, arrays } = encodeTree(tree, 'root');
  const decoded = decodeTree<unknown>(JSON.parse(JSON.stringify(json)), {
    tensor: (name) => tensors.find((leaf) => leaf.name === name)!.value,
    array: (name) => arrays.find((leaf) => leaf.name === name)!.value,
  });
  return { decoded, names: [...tensors, ...arrays].map(({ name }) => name) };
}

it('tensors and typed arrays are taken out and named by their path', () => {
  const x = tf.tensor1d([1, 2]);
  const tree = { a: [{ x }, Float64Array.of(1)], bytes: Buffer.from('b') };
  const { decoded, names } = through(tree);
  expect(names).toEqual(['root/a/0/x', 'root/a/1', 'root/bytes']);
  expect((decoded as typeof tree).a[0]).toEqual({ x });
  expect((decoded as typeof tree).bytes).toBe(tree.bytes);
});

it('absent values stay absent', () => {
  expect(through({ a: undefined, b: 1 }).decoded).toEqual({ b: 1 });
  expect(through(undefined).decoded).toBeNull();
});

const circle: { self?: unknown } = {};
circle.self = circle;

it.each([
  ['a function', { f: () => 1 }, 'root/f'],
  ['a class instance', { d: [new Date()] }, 'root/d/0'],
  ['a bigint', { n: 1n }, 'root/n'],
  ['a circle', circle, 'root/self'],
])('%s is refused, and its path is named', (_, tree, where) => {
  expect(() => through(tree)).toThrowError(
    expect.objectContaining({ code: 'ACC_STATE_INVALID', details: { where } }),
  );
});
