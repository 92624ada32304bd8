import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeTree, encodeTree } from './state-tree.js';

/** The tree again, with names for tensors and arrays. */
function through(tree: unknown) {
  const { json, tensors, arrays } = encodeTree(tree, 'root', () => undefined);
  const decoded = decodeTree<unknown>(JSON.parse(JSON.stringify(json)), {
    tensor: (name) => tensors.find((leaf) => leaf.name === name)!.value,
    array: (name) => arrays.find((leaf) => leaf.name === name)!.value,
  });
  return { decoded, names: [...tensors, ...arrays].map(({ name }) => name) };
}

it('plain values come back as they are', () => {
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      fc.string(),
      fc.boolean(),
      fc.double(),
      fc.constant(null),
      fc.constantFrom(NaN, Infinity, -Infinity, -0),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$acc', '__proto__')), tie('value'), {
        maxKeys: 3,
      }),
    ),
  })).value;
  fc.assert(fc.property(values, (value) => void expect(through(value).decoded).toEqual(value)));
});

it('tensors and typed arrays are taken out under the way to them', () => {
  const x = tf.tensor1d([1, 2]);
  const tree = { a: [{ x }, Float64Array.of(1)], bytes: Buffer.from('b') };
  const { decoded, names } = through(tree);
  expect(names).toEqual(['root/a/0/x', 'root/a/1', 'root/bytes']);
  expect((decoded as typeof tree).a[0]).toEqual({ x });
  expect((decoded as typeof tree).bytes).toBe(tree.bytes);
});

it('what is absent stays absent', () => {
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
])('%s is refused, and named', (_, tree, where) => {
  expect(() => through(tree)).toThrowError(
    expect.objectContaining({ code: 'ACC_STATE_INVALID', details: { where } }),
  );
});

it('the same object twice is no circle', () => {
  const shared = { a: 1 };
  expect(through([shared, shared]).decoded).toEqual([{ a: 1 }, { a: 1 }]);
});
