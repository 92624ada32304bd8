// One rank of a pipeline ends in the middle of a step, by an error of its program or by a signal.
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { meanSquares, skipping, SKIPPING_STAGES, xsOf, ysOf } from './models.js';

const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
const model = skipping();
accelerator.prepare(model, tf.train.sgd(0.1));
let calls = 0;
const loss = (y: tf.Tensor, prediction: tf.Tensor) => {
  if (++calls === 6 && process.argv[2] === 'error') throw new Error('the loss of rank 1');
  if (calls === 6) process.kill(process.pid, 'SIGKILL');
  return meanSquares(y, prediction);
};
const step = accelerator.pipelined(model, loss, { stages: SKIPPING_STAGES[2]!, microBatches: 4 });
for (let i = 0; i < 4; i++) step(xsOf(i), ysOf(i)).dispose();
