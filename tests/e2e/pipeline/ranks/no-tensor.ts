// The loss function of a pipelined step returns what the argument says.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
const model = tf.sequential({
  layers: [tf.layers.dense({ units: 4, inputShape: [3] }), tf.layers.dense({ units: 1 })],
});
accelerator.prepare(model, tf.train.sgd(0.1));
const results: Record<string, () => unknown> = {
  promise: () => Promise.resolve(tf.scalar(1)),
  number: () => 3,
  nothing: () => undefined,
};
const step = accelerator.pipelined(model, results[process.argv[2]!] as () => tf.Tensor);
step(tf.ones([8, 3]), tf.ones([8, 1]));
