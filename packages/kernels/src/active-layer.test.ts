import * as tf from '@tensorflow/tfjs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KernelLayer } from '@acc/contract';
import { activeLayer } from './active-layer.js';
import { kernelLayerOf } from './kernel-layer.js';
import { registerAccBackend } from './register-backend.js';

registerAccBackend();

let layer: KernelLayer;
beforeEach(async () => {
  await tf.setBackend('acc');
  layer = activeLayer({ hasNative: true });
});

const values = (x: tf.Tensor) => [...x.dataSync()];
const accLayer = () => kernelLayerOf('acc', tf.findBackend('acc'));

describe('the layer of the active backend', () => {
  it('looks up the backend in every call', async () => {
    const seen = () => ({
      name: layer.backendName,
      device: layer.device,
      borrows: layer.borrow !== undefined,
      writes: layer.writable !== undefined,
      records: layer.recorder !== undefined,
      has16Bits: layer.precision !== undefined,
    });
    const onAcc = {
      name: 'acc',
      device: 'cpu',
      borrows: true,
      writes: true,
      records: true,
      has16Bits: true,
    };
    const onCpu = {
      name: 'cpu',
      device: 'cpu',
      borrows: false,
      writes: false,
      records: false,
      has16Bits: false,
    };
    for (const [name, expected] of [
      ['acc', onAcc],
      ['cpu', onCpu],
      ['acc', onAcc],
    ] as const) {
      await tf.setBackend(name);
      expect(seen()).toEqual(expected);
    }
  });

  it('accepts lists whose tensors another backend made', async () => {
    let list: tf.Tensor[] = [tf.tensor1d([3, -4]), tf.scalar(12)];
    for (const name of ['cpu', 'acc', 'cpu', 'acc']) {
      await tf.setBackend(name);
      list = layer.lists.scale(list, 2);
      const others = list.map((x) => x.clone());
      list = layer.lists.add(list, others, -0.5);
      tf.dispose(others);
    }
    expect(list.map(values)).toEqual([[3, -4], [12]]);
    const norm = layer.lists.norm(list);
    expect(values(norm)).toEqual([13]);
    tf.dispose([list, norm]);
  });

  it('sends and receives tensors of both backends', async () => {
    const x = tf.tensor1d([1, 2, 3]);
    await tf.setBackend('cpu');
    const back = layer.fromNative(layer.toNative(x), 'float32');
    await tf.setBackend('acc');
    const again = layer.fromNative(layer.toNative(back), 'float32');
    expect([back, again].map(values)).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    tf.dispose([x, back, again]);
  });

  it("seeds and stores libtorch's generator on every backend", async () => {
    const states: number[][] = [];
    for (const name of ['acc', 'cpu']) {
      await tf.setBackend(name);
      layer.random!.seed(7);
      const state = layer.random!.state();
      layer.random!.seed(8);
      layer.random!.exchange(state).dispose();
      const after = layer.random!.state();
      states.push(values(state), values(after));
      tf.dispose([state, after]);
    }
    for (const state of states) expect(state).toEqual(states[0]);
  });

  it('keeps the recorder while a step is recorded', async () => {
    const { recorder } = layer;
    recorder!.record([], () => {
      void tf.setBackend('cpu');
      expect(layer.recorder).toBe(recorder);
      void tf.setBackend('acc');
      return [];
    });
    await tf.setBackend('cpu');
    expect(layer.recorder).toBeUndefined();
  });

  it('follows tf.engine().reset()', async () => {
    const before = tf.backend();
    expect(layer.backendName).toBe('acc');
    tf.engine().reset();
    await tf.setBackend('acc');
    expect(tf.backend()).not.toBe(before);
    const x = layer.fromNative(layer.toNative(tf.tensor1d([4])), 'float32');
    expect(values(tf.add(x, 1))).toEqual([5]);
  });
});

it('tensors of acc can be created while another backend is active', async () => {
  const acc = accLayer();
  const x = tf.tensor1d([3, 4]);
  await tf.setBackend('cpu');
  const norm = acc.lists.norm([x]);
  const unfilled = acc.state.allocate('float32', [2]);
  unfilled.bytes.fill(0);
  const filled = unfilled.toTensor();
  const random = acc.random!.state();
  expect(values(tf.add(norm, 1))).toEqual([6]);
  expect(values(tf.add(filled, 1))).toEqual([1, 1]);
  expect(tf.sum(random).dtype).toBe('int32');
  tf.dispose([x, norm, filled, random]);
});
