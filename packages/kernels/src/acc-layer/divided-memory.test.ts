import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { memoryStats } from '@acc/native';
import { kernelLayerOf } from '../kernel-layer.js';
import { registerAccBackend } from '../register-backend.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const layer = () => kernelLayerOf(tf.getBackend(), tf.backend());
const ranges = [
  { begin: 0, end: 2 },
  { begin: 3, end: 5 },
];
let whole: tf.Tensor;
beforeEach(() => (whole = tf.tensor1d([0, 1, 2, 3, 4, 5])));

/** The values of all elements, by a tensor that is given back. */
function valuesOf(memory: { take(): tf.Tensor; put(full: tf.Tensor): void }): number[] {
  const all = memory.take();
  const values = [...all.dataSync()];
  memory.put(all);
  return values;
}

it('a part is updated by an optimizer in the memory of all elements, which counts once', () => {
  const optimizer = tf.train.sgd(1);
  const before = { tensors: tf.memory().numTensors, bytes: memoryStats().allocatedBytes };
  const { memory, parts } = layer().divideMemory!(whole, ranges);
  expect(whole.isDisposed).toBe(true);
  const own = tf.variable(parts[1]!, true, 'own');
  tf.dispose(parts);
  const grads = { own: tf.tensor1d([10, 20]) };
  layer().fusedApply!(optimizer)!(grads);
  expect([...own.dataSync()]).toEqual([-7, -16]);
  expect(valuesOf(memory)).toEqual([0, 1, 2, -7, -16, 5]);
  expect(memory.isUnused).toBe(true);
  tf.dispose(grads);
  expect(memoryStats().allocatedBytes).toBe(before.bytes);
  expect(tf.memory().numTensors).toBe(before.tensors);
  memory.dispose();
  tf.dispose([own]);
  expect(memoryStats().allocatedBytes).toBeLessThan(before.bytes);
  optimizer.dispose();
});

it('a part with a clone is not written to: an optimizer gives it other memory', () => {
  const { memory, parts } = layer().divideMemory!(whole, ranges);
  const own = tf.variable(parts[0]!, true, 'own');
  tf.dispose(parts);
  const clone = own.clone();
  const values = tf.tensor1d([7, 8]);
  expect(memory.write(own, values)).toBe(false);
  const grads = { own: tf.tensor1d([10, 20]) };
  layer().fusedApply!(tf.train.sgd(1))!(grads);
  expect([...own.dataSync()]).toEqual([-10, -19]);
  expect([...clone.dataSync()]).toEqual([0, 1]);
  expect(valuesOf(memory)).toEqual([0, 1, 2, 3, 4, 5]);
  memory.dispose();
  tf.dispose([own, clone, values, grads]);
});

it('writes values of any element type, and knows views of all elements', () => {
  const { memory, parts } = layer().divideMemory!(whole, ranges);
  const rounded = layer().precision!.cast(tf.tensor1d([1.5, 2.5]), 'bfloat16');
  expect(memory.write(parts[1]!, rounded)).toBe(true);
  expect(valuesOf(memory)).toEqual([0, 1, 2, 1.5, 2.5, 5]);
  const all = memory.take();
  const view = tf.slice(all, [0], [5]);
  memory.put(all);
  expect(memory.isUnused).toBe(false);
  view.dispose();
  expect(memory.isUnused).toBe(true);
  memory.dispose();
  tf.dispose(parts);
});

it('memory that something else uses is copied', () => {
  const clone = whole.clone();
  const { memory, parts } = layer().divideMemory!(whole, ranges);
  const values = tf.tensor1d([7, 8]);
  expect(memory.write(parts[0]!, values)).toBe(true);
  expect([...clone.dataSync()]).toEqual([0, 1, 2, 3, 4, 5]);
  expect(valuesOf(memory)).toEqual([7, 8, 2, 3, 4, 5]);
  memory.dispose();
  tf.dispose([clone, values, parts]);
});
