import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { valuesOf } from './values-of.js';

it('reads the values and disposes the tensor', () => {
  const before = tf.memory().numTensors;
  const tensor = tf.tensor2d([
    [1, 2.5],
    [-3, 4],
  ]);
  expect([...valuesOf(tensor)]).toEqual([1, 2.5, -3, 4]);
  expect(tensor.isDisposed).toBe(true);
  expect(tf.memory().numTensors).toBe(before);
});

it('disposes the tensor also if it cannot be read', () => {
  const tensor = tf.scalar(1);
  tensor.dataSync = () => {
    throw new Error('lost');
  };
  expect(() => valuesOf(tensor)).toThrow('lost');
  expect(tensor.isDisposed).toBe(true);
});
