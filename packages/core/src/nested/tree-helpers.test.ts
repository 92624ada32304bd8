import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { concatenate, findBatchSize, initializeTensors, listify, sliceTensors } from './tree-helpers.js';

const invalid = (text: string) =>
  expect.objectContaining({
    code: 'ACC_INVALID_ARGUMENT',
    message: expect.stringContaining(text) as unknown,
  }) as Error;

it.each([
  ['an empty list', () => concatenate([]), 'the list is empty'],
  ['other keys', () => concatenate([{ x: tf.ones([1]) }, { y: tf.ones([1]) }]), 'item 1 has tensors at y'],
  ['a scalar', () => findBatchSize({ x: tf.scalar(1) }), 'no tensor with a dim 0'],
  ['no tensor', () => findBatchSize([]), 'no tensor with a dim 0'],
  ['no structure', () => initializeTensors({ x: { shape: 3 } } as never), "{ shape, dtype } at 'x.shape'"],
])('helpers of trees refuse %s', (_, call, text) => {
  expect(() => tf.tidy(call as () => void)).toThrowError(invalid(text));
});

it('tensors are found in the order of keys, and rows are those of Array.slice', () => {
  tf.tidy(() => {
    const batch = { b: { none: [] }, z: tf.range(0, 5), a: tf.ones([7]) };
    expect(findBatchSize(batch)).toBe(5);
    expect(listify(sliceTensors(batch, 1, -1))).toEqual({
      b: { none: [] },
      z: [1, 2, 3],
      a: [1, 1, 1, 1, 1],
    });
    const cuts: [number, number?][] = [[9], [-9, 2], [2, -9], [-2], [1.7, Infinity], [NaN, 1]];
    for (const [start, end] of cuts)
      expect(listify(sliceTensors(batch.z, start, end))).toEqual(batch.z.arraySync().slice(start, end));
    expect(() => sliceTensors(tf.scalar(1), 0)).toThrow(invalid('sliceTensors: a scalar has no rows.'));
  });
});
