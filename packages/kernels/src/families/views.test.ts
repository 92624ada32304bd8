import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryStats } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';

const MIB = 2 ** 20;
const ROWS = 4096;
/** A tensor whose rows have 64 floats; each row is 1/4096 of a MiB. */
const big = (): tf.Tensor2D => tf.fill([ROWS, 64], 1);

/** The native memory held before the test; `heldMib` returns the memory held beyond it, in MiB. */
let before = 0;
const heldMib = (): number => (memoryStats().allocatedBytes - before) / MIB;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});
beforeEach(() => {
  before = memoryStats().allocatedBytes;
});
afterEach(() => expect(heldMib()).toBe(0));

describe('memory that a view keeps', () => {
  it('is all of its base if the view is a large part, which is not copied', () => {
    const x = big();
    const half = tf.slice(x, [ROWS / 2, 0]);
    expect(heldMib()).toBe(1);
    x.dispose();
    expect(heldMib()).toBe(1);
    half.dispose();
  });

  it.each([
    ['slice', (x: tf.Tensor2D) => [tf.slice(x, [5, 0], [2, 64])]],
    ['slice of two dims', (x: tf.Tensor2D) => [tf.slice(x, [5, 3], [100, 3])]],
    ['stridedSlice', (x: tf.Tensor2D) => [tf.stridedSlice(x, [0, 0], [ROWS, 64], [512, 1])]],
    ['unstack', (x: tf.Tensor2D) => tf.unstack(x).slice(0, 3)],
    ['split', (x: tf.Tensor2D) => tf.split(x, 64, 1).slice(0, 1)],
    ['gather', (x: tf.Tensor2D) => [tf.gather(x, [1, 2, 3])]],
    ['topk', (x: tf.Tensor2D) => [tf.topk(x, 1).values]],
  ])('is only its own if the view is a small part: %s', (_name, take) => {
    const x = big();
    const parts = tf.tidy(() => take(x));
    x.dispose();
    expect(heldMib()).toBeLessThan(0.05);
    tf.dispose(parts);
  });

  it('is counted from the first base, however many views lie between', () => {
    let x: tf.Tensor2D = big();
    for (let rows = ROWS; rows > 1; rows /= 2) {
      const half = tf.tidy(() => tf.transpose(tf.slice(tf.transpose(x), [0, rows / 2])));
      x.dispose();
      x = half;
    }
    expect(x.shape).toEqual([1, 64]);
    expect(heldMib()).toBeLessThan(0.05);
    x.dispose();
  });
});

describe('tensors that share one data', () => {
  it('come from reshape, expandDims and squeeze', () => {
    const { numDataBuffers, numTensors } = tf.memory();
    const x = big();
    const shapes = [tf.reshape(x, [-1]), tf.expandDims(x, 1), tf.squeeze(x), tf.transpose(x, [0, 1])];
    expect(tf.memory()).toMatchObject({
      numDataBuffers: numDataBuffers + 1,
      numTensors: numTensors + 5,
    });
    x.dispose();
    expect(heldMib()).toBe(1);
    expect(shapes[0]!.dataSync().length).toBe(ROWS * 64);
    tf.dispose(shapes);
  });

  it('can be inputs of one kernel in different shapes', () => {
    const table = tf.tidy(() => {
      const x = tf.tensor1d([1, 2, 3]);
      return tf.mul(tf.reshape(x, [3, 1]), tf.reshape(x, [1, 3])).dataSync();
    });
    expect(Array.from(table)).toEqual([1, 2, 3, 2, 4, 6, 3, 6, 9]);
  });

  it('can be split into, and joined from, more parts than one native call accepts', () => {
    tf.tidy(() => {
      const count = 5000;
      const x = tf.reshape(tf.range(0, 2 * count), [count, 2]);
      const parts = tf.unstack(x);
      expect(parts.length).toBe(count);
      expect(Array.from(tf.stack(parts).dataSync())).toEqual(Array.from(x.dataSync()));
      const rows = tf.split(x, count);
      expect(Array.from(rows.at(-1)!.dataSync())).toEqual([2 * count - 2, 2 * count - 1]);
      expect(tf.concat(rows).shape).toEqual([count, 2]);
    });
  });

  it('can have any number of shapes', () => {
    tf.tidy(() => {
      const x = tf.range(0, 64);
      for (let rank = 1; rank <= 20; rank++) {
        const ones = new Array<number>(rank - 1).fill(1);
        expect(Array.from(tf.neg(tf.reshape(x, [...ones, 64])).dataSync()).at(-1)).toBe(-63);
      }
    });
  });
});
