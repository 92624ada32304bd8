// Rank 1 ends before the exchanges of backward in a replay, by an error of a plugin or by a signal.
import { Accelerator, parallelize } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

let calls = 0;
let end = Infinity;
const accelerator = await Accelerator.create({
  mesh: { tensor: 2 },
  plugins: [
    {
      name: 'ending',
      loss: () => {
        if (++calls < end) return;
        if (process.argv[2] === 'error') throw new Error('the plugin of rank 1');
        process.kill(process.pid, 'SIGKILL');
      },
    },
  ],
});
const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: 8, activation: 'relu', inputShape: [4] }),
    tf.layers.dense({ units: 4 }),
    tf.layers.dense({ units: 8, activation: 'relu' }),
    tf.layers.dense({ units: 4 }),
  ],
});
const [, optimizer] = accelerator.prepare(parallelize(model, 'auto'), tf.train.sgd(0.1));
const step = accelerator.compile((x: tf.Tensor) =>
  optimizer.minimize(() => tf.mean(tf.square(model.apply(x) as tf.Tensor)), true),
);
const x = tf.ones([3, 4]);
for (let i = 0; i < 8; i++) {
  if (i === 6 && accelerator.processIndex === 1) end = calls + 1;
  step(x)!.dispose();
  console.log(`replays: ${step.replays}`);
}
