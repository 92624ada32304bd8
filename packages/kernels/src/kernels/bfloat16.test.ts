import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { operator } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { registerAccBackend } from '../register-backend.js';

const castTo = operator('aten::_to_copy');
const acc = (): AccBackend => tf.backend() as AccBackend;

/** Casts `x` to bfloat16 in a tensor that tfjs sees as float32. */
function short(x: tf.Tensor): tf.Tensor {
  return acc().tensorOf(castTo(acc().native(x), 'bfloat16'), 'float32');
}

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

/** Small integers, which bfloat16 represents exactly. */
const matrix = (): tf.Tensor =>
  tf.tensor2d([
    [3, -1, 4],
    [1, -5, 9],
  ]);
const ids = (): tf.Tensor1D => tf.tensor1d([1, 0], 'int32');

const STAYS_SHORT: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  sum: (x) => tf.sum(x, 1),
  mean: (x) => tf.mean(x, 0),
  max: (x) => tf.max(x, 0),
  prod: (x) => tf.prod(x),
  cumsum: (x) => tf.cumsum(x, 1, true, true),
  transpose: (x) => tf.transpose(x),
  reshape: (x) => tf.reshape(x, [3, 2]),
  slice: (x) => tf.slice(x, [1, 1]),
  pad: (x) =>
    tf.pad(x, [
      [1, 0],
      [0, 2],
    ]),
  mirrorPad: (x) =>
    tf.mirrorPad(
      x as tf.Tensor2D,
      [
        [1, 1],
        [0, 0],
      ],
      'reflect',
    ),
  tile: (x) => tf.tile(x, [2, 1]),
  concat: (x) => tf.concat([x, x]),
  stack: (x) => tf.stack([x, x]),
  reverse: (x) => tf.reverse(x, 1),
  gather: (x) => tf.gather(x, ids()),
  unsortedSegmentSum: (x) => tf.unsortedSegmentSum(x, ids(), 2),
  scatterND: (x) => tf.scatterND(tf.expandDims(ids(), 1), x, [2, 3]),
  topk: (x) => tf.topk(x, 2).values,
};

const FROM_BOTH_LENGTHS: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  concat: (x) => tf.concat([x, matrix()]),
  stack: (x) => tf.stack([matrix(), x]),
  tensorScatterUpdate: (x) => tf.tensorScatterUpdate(matrix(), tf.expandDims(ids(), 1), x),
  searchSorted: (x) =>
    tf.searchSorted(
      tf.tensor2d([
        [0, 2, 4],
        [0, 2, 4],
      ]),
      x,
    ),
  argMax: (x) => tf.argMax(x, 1),
};

describe('bfloat16 tensors with the tfjs dtype float32', () => {
  it.each(Object.keys(STAYS_SHORT))('stay bfloat16 in %s', (name) => {
    tf.tidy(() => {
      const actual = STAYS_SHORT[name]!(short(matrix()));
      expect(acc().native(actual).dtype).toBe('bfloat16');
      expect(actual.arraySync()).toEqual(STAYS_SHORT[name]!(matrix()).arraySync());
    });
  });

  it.each(Object.keys(FROM_BOTH_LENGTHS))('can be combined with float32 in %s', (name) => {
    tf.tidy(() => {
      const actual = FROM_BOTH_LENGTHS[name]!(short(matrix()));
      expect(actual.arraySync()).toEqual(FROM_BOTH_LENGTHS[name]!(matrix()).arraySync());
    });
  });
});
