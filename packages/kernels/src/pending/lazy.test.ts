import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { liveTensors } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { localShards } from '../shards/local-shards.js';
import { registerAccBackend } from '../register-backend.js';
import { computeWaiting } from './compute-waiting.js';
import { lazyOf, lazyTensor } from './lazy.js';

let backend: AccBackend;
beforeAll(() => registerAccBackend());
beforeEach(async () => {
  await tf.setBackend('acc');
  backend = tf.backend() as AccBackend;
});

const counts = () => [
  tf.memory().numTensors,
  tf.memory().numDataBuffers,
  backend.numDataIds(),
  liveTensors(),
];

/** Doubles of `x` [2, 4], of which this process has the last two columns. Counts what is made. */
function doubles(x: tf.Tensor) {
  const created = { whole: 0, own: 0 };
  const ofKernel = (given: tf.Tensor) => {
    const { dataId, shape, dtype } = given;
    backend.incRef(dataId);
    given.dispose();
    tf.engine().removeDataId(dataId, backend);
    return { dataId, shape, dtype };
  };
  const { dataId, shape, dtype } = x;
  const input = { dataId, shape, dtype };
  const again = () => {
    backend.incRef(dataId);
    return tf.engine().makeTensorFromTensorInfo(input, backend);
  };
  const info = lazyTensor(backend, x, {
    inputs: [input],
    whole: () => (created.whole++, ofKernel(tf.tidy(() => tf.mul(again(), 2)))),
    own: () => (created.own++, ofKernel(tf.tidy(() => tf.mul(tf.slice(again(), [0, 2], [2, 2]), 2)))),
  });
  return { made: created, y: tf.engine().makeTensorFromTensorInfo(info, backend) };
}

const X = [
  [1, 2, 3, 4],
  [5, 6, 7, 8],
];
const join = () => {
  throw new Error('There are no pieces to join.');
};

it('makes values once, when they are read, also after their inputs were disposed', () => {
  const before = counts();
  const x = tf.tensor2d(X);
  const { made, y } = doubles(x);
  const reshaped = tf.reshape(y, [4, 2]);
  x.dispose();
  expect(made.whole).toBe(0);
  expect(reshaped.arraySync()).toEqual([
    [2, 4],
    [6, 8],
    [10, 12],
    [14, 16],
  ]);
  expect(Array.from(y.dataSync())).toEqual([2, 4, 6, 8, 10, 12, 14, 16]);
  expect(made).toEqual({ whole: 1, own: 0 });
  expect(lazyOf(y)).toBeUndefined();
  tf.dispose([y, reshaped]);
  expect(counts()).toEqual(before);
});

it('makes only this process’s columns for who needs those', () => {
  const before = counts();
  const x = tf.tensor2d(X);
  const { made, y } = doubles(x);
  const pieces = localShards(backend, { count: 2, index: 1, join });
  const columns = pieces.cut(y, { outer: 2, shape: [2, 2] });
  expect(Array.from(backend.readSync(columns.dataId) as Float32Array)).toEqual([6, 8, 14, 16]);
  expect(made).toEqual({ whole: 0, own: 1 });
  // Rows are another part, for which all values are made.
  const rows = pieces.cut(y, { outer: 1, shape: [1, 4] });
  expect(Array.from(backend.readSync(rows.dataId) as Float32Array)).toEqual([10, 12, 14, 16]);
  expect(made).toEqual({ whole: 1, own: 1 });
  for (const info of [columns, rows]) backend.disposeInfo(info);
  tf.dispose([x, y]);
  expect(counts()).toEqual(before);
});

it('frees what nobody has read', () => {
  const before = counts();
  const x = tf.tensor2d(X);
  const { made, y } = doubles(x);
  tf.dispose([x, y]);
  expect(made).toEqual({ whole: 0, own: 0 });
  expect(counts()).toEqual(before);
});

it('is made of the values at that time', () => {
  const x = tf.variable(tf.tensor2d(X));
  const { y } = doubles(x);
  tf.train.sgd(1).minimize(() => tf.sum(x) as tf.Scalar, false, [x]);
  expect(Array.from(y.dataSync())).toEqual([2, 4, 6, 8, 10, 12, 14, 16]);
  expect(Array.from(x.dataSync())).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

it('is made before a recording', () => {
  const x = tf.tensor2d(X);
  const { made, y } = doubles(x);
  computeWaiting();
  expect(made.whole).toBe(1);
  tf.dispose([x, y]);
});
