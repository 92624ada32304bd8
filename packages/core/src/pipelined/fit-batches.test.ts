import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { Accelerator } from '../index.js';

async function fit(rows: number, batchSize: number): Promise<number> {
  const accelerator = await Accelerator.create({ engine: 'tfjs', pipeline: { microBatches: 4 } });
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  try {
    const [xs, ys] = [tf.ones([rows, 2]), tf.ones([rows, 1])];
    const { history } = await model.fit(xs, ys, { batchSize, epochs: 2, verbose: 0 });
    return history['loss']!.length;
  } finally {
    accelerator.freeMemory();
    tf.disposeVariables();
  }
}

it('divides whole batches into the micro-batches that were asked for, or refuses them', async () => {
  await expect(fit(12, 6)).rejects.toMatchObject({
    code: 'ACC_PIPELINE_BATCH',
    details: { rows: 6, microBatches: 4 },
  });
  // The last batch has 5 rows.
  expect(await fit(13, 8)).toBe(2);
});
