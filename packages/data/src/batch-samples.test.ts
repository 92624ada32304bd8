import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { DataLoader } from './data-loader.js';
import { collect } from './testing/collect.js';

it.each(['collate', 'transform'])('refuses a promise from %s', async (option) => {
  const loader = new DataLoader([1, 2], { batchSize: 2, [option]: () => Promise.resolve(tf.zeros([0])) });
  await expect(collect(loader)).rejects.toMatchObject({
    code: 'ACC_DATA_COLLATE',
    details: { path: option },
  });
});
