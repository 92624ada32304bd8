import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';

const texts = () => tf.tensor2d(['a', 'bä', 'c', ''], [2, 2], 'string');
const list = () => tf.tensor1d(['x', 'y', 'x'], 'string');
const text = (value: string) => tf.scalar(value, 'string');
const places = () => tf.tensor2d([[1], [0]], [2, 1], 'int32');

const CASES: Readonly<Record<string, () => tf.Tensor | tf.Tensor[]>> = {
  'reshape, expandDims, squeeze': () => [
    tf.reshape(texts(), [4]),
    tf.expandDims(list(), 0),
    tf.squeeze(tf.expandDims(list(), 1)),
  ],
  'slice and stridedSlice': () => [tf.slice(texts(), [0, 1], [2, 1]), tf.stridedSlice(list(), [0], [3], [2])],
  'concat, along each axis': () => [tf.concat([texts(), texts()], 0), tf.concat([texts(), texts()], 1)],
  'stack and unstack': () => [tf.stack([list(), list()], 1), ...tf.unstack(texts(), 1)],
  tile: () => tf.tile(list(), [2]),
  'gatherND, sparseToDense': () => [
    tf.gatherND(list(), places()),
    tf.sparseToDense(
      tf.tensor1d([1, 3], 'int32'),
      tf.tensor1d(['p', 'q'], 'string'),
      [4],
      text('d') as never,
    ),
  ],
  'fill and clone': () => [tf.fill([2, 1], 'é', 'string'), tf.clone(texts())],
  'tf.string': () => {
    const { indices, values, shape } = tf.string.stringSplit(tf.tensor1d(['a b', 'c'], 'string'), text(' '));
    const hashes = tf.string.stringToHashBucketFast(list(), 5);
    const replaced = tf.string.staticRegexReplace(list(), 'x', 'zz');
    return [indices!, values!, shape!, hashes, replaced];
  },
};

/** Operations that tfjs rejects on cpu, and that must be rejected here too. */
const REFUSED: Readonly<Record<string, () => unknown>> = {
  add: () => tf.add(list() as never, list() as never),
  transpose: () => tf.transpose(texts()),
  gather: () => tf.gather(list(), [2, 0]),
  split: () => tf.split(list(), [1, 2]),
  'cast to float32': () => tf.cast(list(), 'float32'),
  'a shape that does not fit': () => tf.tensor(['a', 'b'], [3], 'string'),
};

describe('strings', () => {
  it.each(Object.entries(CASES))('are as on cpu: %s', (_, compute) => expectSameAsCpu(compute));

  it.each(Object.entries(REFUSED))('are refused as on cpu: %s', async (_, compute) => {
    registerAccBackend();
    for (const backend of ['cpu', 'acc']) {
      await tf.setBackend(backend);
      expect(() => tf.tidy(() => void compute())).toThrow();
    }
  });

  it('are printed as on cpu', async () => {
    const printed = async (backend: string) => {
      await tf.setBackend(backend);
      return tf.tidy(() => `${texts().toString()} ${tf.complex([1, 2], [3, -4]).toString()}`);
    };
    expect(await printed('acc')).toBe(await printed('cpu'));
  });
});
