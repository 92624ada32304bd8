import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { flatten, withTensors } from './nested-values.js';

const keyOf = (...args: unknown[]) => flatten(args).key;

describe('flatten', () => {
  it('gives equal keys to tensors of equal shape and dtype, and different keys to others', () => {
    const x = tf.zeros([2, 3]);
    expect(keyOf(x)).toBe(keyOf(tf.ones([2, 3])));
    expect(keyOf(x)).not.toBe(keyOf(tf.ones([3, 2])));
    expect(keyOf(x)).not.toBe(keyOf(tf.ones([2, 3], 'int32')));
    expect(keyOf(x)).not.toBe(keyOf([x]));
  });

  it('distinguishes tensors that share data, and variables, from others', () => {
    const [x, y] = [tf.zeros([2]), tf.zeros([2])];
    expect(keyOf(x, y)).toBe(keyOf(y, x));
    expect(keyOf(x, x)).not.toBe(keyOf(x, y));
    expect(keyOf(x, x.clone())).not.toBe(keyOf(x, y));
    const [v, w] = [tf.variable(x), tf.variable(y)];
    expect(keyOf(v)).not.toBe(keyOf(w));
    expect(keyOf(v)).not.toBe(keyOf(x));
  });

  it('includes plain values, arrays and records in the key', () => {
    const values = [1, -0, 0, '1', true, 'true', null, undefined, NaN, 1n, [], [1], {}, { a: 1 }, { b: 1 }];
    const keys = values.map((value) => keyOf(value));
    expect(new Set(keys).size).toBe(values.length);
  });

  it('names a value that it does not support', () => {
    expect(flatten([new Float32Array(2)]).foreign).toBe('Float32Array');
    expect(flatten({ f: () => 1 }).foreign).toBe('function');
    expect(flatten([1, { a: null }]).foreign).toBeUndefined();
  });

  it('lists each tensor once, wherever it is', () => {
    const [x, y] = [tf.zeros([2]), tf.zeros([2])];
    expect(flatten([{ a: [x, y] }, 3, x]).tensors).toEqual([x, y]);
  });
});

describe('withTensors', () => {
  it('builds the structure again', () => {
    const [x, y] = [tf.zeros([2]), tf.zeros([2])];
    expect(withTensors({ a: [x, 1], b: 'c' }, () => y)).toEqual({ a: [y, 1], b: 'c' });
  });
});
