import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryStats } from '@acc/native';
import { kernelLayerOf } from './kernel-layer.js';
import { registerAccBackend } from './register-backend.js';

beforeAll(() => registerAccBackend());

describe.each(['acc', 'cpu'])('on %s a deferred tensor', (backend) => {
  beforeAll(() => tf.setBackend(backend));

  function create(values: readonly number[], held?: tf.Tensor) {
    let loads = 0;
    const layer = kernelLayerOf(tf.getBackend(), tf.backend());
    const deferred = layer.defer!({ shape: [2, 2], dtype: 'float32', ...(held && { held }) }, () => {
      loads++;
      const given = tf.tensor1d([...values]);
      deferred.fill(given);
      given.dispose();
    });
    return { deferred, loads: () => loads };
  }

  it('loads its values for an operator and for a read, and again after a release', () => {
    const { deferred, loads } = create([1, 2, 3, 4]);
    expect(deferred.isFilled).toBe(false);
    const sum = () => tf.tidy(() => deferred.tensor.sum().dataSync()[0]);
    expect([sum(), loads()]).toEqual([10, 1]);
    expect([...deferred.tensor.dataSync()]).toEqual([1, 2, 3, 4]);
    expect([deferred.isFilled, loads()]).toEqual([true, 1]);
    deferred.release();
    expect(deferred.isFilled).toBe(false);
    expect([...deferred.tensor.dataSync()]).toEqual([1, 2, 3, 4]);
    expect(loads()).toBe(2);
    deferred.tensor.dispose();
    expect(deferred.holders).toBe(0);
  });

  it('can be filled from the middle of a larger tensor', () => {
    const { deferred } = create([0, 0, 0, 0]);
    const larger = tf.range(0, 40);
    deferred.fill(larger, 7);
    larger.dispose();
    expect([...deferred.tensor.dataSync()]).toEqual([7, 8, 9, 10]);
    const row = tf.slice(deferred.tensor, [1, 0], [1, 2]);
    deferred.tensor.dispose();
    expect([...row.dataSync()]).toEqual([9, 10]);
    row.dispose();
  });

  it('shares its values with clones, reshaped tensors and variables, filled or not', () => {
    const { deferred, loads } = create([1, 2, 3, 4]);
    const clone = deferred.tensor.clone();
    const flat = deferred.tensor.reshape([4]);
    const variable = tf.variable(tf.zeros([2, 2]));
    variable.assign(deferred.tensor);
    expect(deferred.holders).toBe(4);
    expect([...flat.dataSync()]).toEqual([1, 2, 3, 4]);
    const other = tf.tensor2d([
      [5, 6],
      [7, 8],
    ]);
    deferred.fill(other);
    expect([...clone.dataSync(), ...flat.dataSync(), ...variable.dataSync()]).toEqual([
      ...[5, 6, 7, 8],
      ...[5, 6, 7, 8],
      ...[5, 6, 7, 8],
    ]);
    expect(loads()).toBe(1);
    tf.dispose([clone, flat, variable, other, deferred.tensor]);
  });

  it('is not written by an optimizer that steps in place', () => {
    const { deferred } = create([1, 2, 3, 4]);
    const variable = tf.variable(tf.zeros([2, 2]));
    variable.assign(deferred.tensor);
    const optimizer = tf.train.sgd(1);
    tf.tidy(() => optimizer.applyGradients({ [variable.name]: tf.ones([2, 2]) }));
    expect([...variable.dataSync()]).toEqual([0, 1, 2, 3]);
    expect([...deferred.tensor.dataSync()]).toEqual([1, 2, 3, 4]);
    tf.dispose([variable, deferred.tensor]);
  });

  it('gives back what it holds, and throws what its source throws', () => {
    const { deferred } = create([1, 2, 3, 4], tf.tensor1d([9, 8]));
    const held = deferred.held()!;
    expect([...held.dataSync()]).toEqual([9, 8]);
    tf.dispose([held, deferred.tensor]);
    const layer = kernelLayerOf(tf.getBackend(), tf.backend());
    const failing = layer.defer!({ shape: [1], dtype: 'float32' }, () => {
      throw new Error('the rank is gone');
    });
    expect(failing.held()).toBeUndefined();
    expect(() => failing.tensor.dataSync()).toThrowError('the rank is gone');
    failing.tensor.dispose();
  });

  it('leaves no tensor and no memory', () => {
    const round = () => {
      const { deferred } = create([1, 2, 3, 4], tf.tensor1d([9, 8]));
      deferred.tensor.dataSync();
      deferred.held()!.dispose();
      deferred.tensor.dispose();
    };
    round();
    const before = [tf.memory().numTensors, tf.memory().numDataBuffers, memoryStats().allocatedBytes];
    round();
    expect([tf.memory().numTensors, tf.memory().numDataBuffers, memoryStats().allocatedBytes]).toEqual(
      before,
    );
  });
});
