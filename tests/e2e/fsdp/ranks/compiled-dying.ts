// Rank 1 ends in the backward pass of a replay, by an error of a plugin or by a signal.
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

let calls = 0;
let end = Infinity;
const accelerator = await Accelerator.create({
  strategy: 'fsdp',
  fsdp: { bucketBytes: 1 },
  plugins: [
    {
      name: 'ending',
      ready: () => {
        if (++calls < end) return;
        if (process.argv[2] === 'error') throw new Error('the plugin of rank 1');
        process.kill(process.pid, 'SIGKILL');
      },
    },
  ],
});
const layers = [8, 4, 8, 4].map((units, i) =>
  tf.layers.dense({ units, ...(i === 0 && { inputShape: [4] }) }),
);
const [model, optimizer] = accelerator.prepare(tf.sequential({ layers }), tf.train.sgd(0.1));
const step = accelerator.compile((x: tf.Tensor) =>
  optimizer.minimize(() => tf.mean(tf.square(model.apply(x) as tf.Tensor)), true),
);
const x = tf.ones([3, 4]);
for (let i = 0; i < 8; i++) {
  if (i === 6 && accelerator.processIndex === 1) end = calls + 3;
  step(x)!.dispose();
  console.log(`replays: ${step.replays}`);
}
