import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { expect, it } from 'vitest';
import { portableBridge } from './portable-bridge.js';

it('gives away what wasm reads, and never the array of a tensor on another backend', async () => {
  await tf.setBackend('cpu');
  const given = Float32Array.of(1, 2);
  const onCpu = tf.tensor1d(given);
  expect(portableBridge.toNative(onCpu).take).toBeUndefined();

  await tf.setBackend('wasm');
  const own = tf.tensor1d([3, 4]);
  const taken = portableBridge.toNative(own).take!();
  taken.fill(9 as never);
  expect([...own.dataSync()]).toEqual([3, 4]);
  // Reads of cpu's tensors give the array of the program, also while wasm is active.
  expect(portableBridge.toNative(onCpu).take).toBeUndefined();
  expect([...given]).toEqual([1, 2]);
});
