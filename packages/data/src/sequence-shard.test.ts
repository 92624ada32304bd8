import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { shardBatches } from './shard-batches.js';

interface Batch extends tf.NamedTensorMap {
  readonly x: tf.Tensor2D;
  readonly labels: tf.Tensor1D;
  readonly again: tf.Tensor2D;
}

async function shardsOf(batch: Batch, sequence: { index: number; size: number }, prefetch = 0) {
  const found: object[] = [];
  for await (const own of shardBatches([batch, batch], { rank: 0, size: 1, sequence, prefetch })) {
    found.push({ x: own.x.arraySync(), labels: own.labels.arraySync(), again: own.again.arraySync() });
    tf.dispose(own);
  }
  return found;
}

it.each([0, 2])(
  'a rank gets its piece of dim 1, and nothing else is kept (prefetch %d)',
  async (prefetch) => {
    const x = tf.tensor2d([
      [1, 2, 3, 4, 5, 6],
      [7, 8, 9, 10, 11, 12],
    ]);
    const batch = { x, labels: tf.tensor1d([0, 1]), again: x };
    const { numTensors } = tf.memory();
    const second = [
      [3, 4],
      [9, 10],
    ];
    const expected = { x: second, labels: [0, 1], again: second };
    expect(await shardsOf(batch, { index: 1, size: 3 }, prefetch)).toEqual([expected, expected]);
    expect(tf.memory().numTensors).toBe(numTensors);
  },
);

it('refuses a dim 1 that the ranks do not divide, and names both numbers', async () => {
  const x = tf.zeros<tf.Rank.R2>([2, 6]);
  const batch = { x: tf.zeros<tf.Rank.R2>([2, 8]), labels: tf.tensor1d([0, 1]), again: x };
  const { numTensors } = tf.memory();
  const error: unknown = await shardsOf(batch, { index: 0, size: 4 }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'ACC_DATA_SEQUENCE', details: { shape: [2, 6], pieces: 4 } });
  expect(tf.memory().numTensors).toBe(numTensors);
});
