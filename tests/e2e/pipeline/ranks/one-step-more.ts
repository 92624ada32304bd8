// Rank 1 takes one pipelined step more than the others. Reports the error.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { meanSquares } from './models.js';

const accelerator = await Accelerator.create({ engine: 'acc', mesh: { data: 2, pipeline: 2 } });
const model = tf.sequential({
  layers: [tf.layers.dense({ units: 4, inputShape: [3] }), tf.layers.dense({ units: 1 })],
});
const optimizer = tf.train.sgd(0.01);
model.compile({ optimizer, loss: 'meanSquaredError' });
accelerator.prepare(model);
const step = accelerator.pipelined(model, meanSquares);
const steps = accelerator.processIndex === 1 ? 3 : 2;
try {
  for (let i = 0; i < steps; i++) step(tf.ones([8, 3]), tf.ones([8, 1]));
  accelerator.waitForEveryone();
  reportResult({});
} catch (error) {
  const { code, message } = error as { code?: string; message?: string };
  reportResult({ code, message });
}
process.exit(0);
