import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { commonRows, splitRowsOf, sliceRows } from './cut-batch.js';
import { expectNoTensorsLeft, plain } from './testing/collect.js';

const code = (value: string) => expect.objectContaining({ code: value });

describe('splitRowsOf', () => {
  it('repeats rows in order until every rank has one', () => {
    expect(splitRowsOf(7, 3, true)).toEqual({ starts: [0, 3, 5], rows: [3, 2, 2], realRows: [3, 2, 2] });
    expect(splitRowsOf(2, 5, true)).toEqual({
      starts: [0, 1, 0, 1, 0],
      rows: [1, 1, 1, 1, 1],
      realRows: [1, 1, 0, 0, 0],
    });
    expect(splitRowsOf(2, 3, false)).toMatchObject({ rows: [1, 1, 0], realRows: [1, 1, 0] });
    expect(splitRowsOf(0, 2, true)).toMatchObject({ rows: [0, 0], realRows: [0, 0] });
  });
});

describe('commonRows', () => {
  it('is dim 0 of all tensors', () => {
    const [a, b, scalar] = [tf.ones([3, 2]), tf.ones([3]), tf.scalar(1)];
    expect(commonRows('list', { a, b: [b] })).toBe(3);
    const short = tf.ones([2]);
    expect(() => commonRows('list', [a, short])).toThrow(code('ACC_DATA_ROWS_DIFFER'));
    expect(() => commonRows('list', [a, scalar])).toThrow(code('ACC_DATA_SPLIT'));
    expect(() => commonRows('list', 5)).toThrow(code('ACC_DATA_SPLIT'));
    tf.dispose([a, b, scalar, short]);
  });
});

describe('sliceRows', () => {
  it('takes the same rows of every tensor and keeps other members', async () => {
    const batch = { x: tf.range(0, 4), y: tf.range(10, 14), name: 'a' };
    await expectNoTensorsLeft(() => {
      const part = sliceRows(batch, 1, 2);
      expect(plain(part)).toEqual({ x: [1, 2], y: [11, 12], name: 'a' });
      tf.dispose([part.x, part.y]);
    });
    tf.dispose([batch.x, batch.y]);
  });
});
