// Trains endlessly. The given rank dies in the middle of a step, by a signal or an error.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const [victim, how] = process.argv.slice(2);
const accelerator = await Accelerator.create();
const model = tf.sequential({ layers: [tf.layers.dense({ units: 4, inputShape: [4] })] });
const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
for (let step = 0; ; step++) {
  tf.tidy(() => {
    optimizer.minimize(() => {
      const loss = (model.predict(tf.ones([2, 4])) as tf.Tensor).square().mean() as tf.Scalar;
      if (step === 5 && accelerator.processIndex === Number(victim)) {
        if (how === 'kill') process.kill(process.pid, 'SIGKILL');
        if (how === 'throw') throw new Error('the culprit');
        if (how === 'exit') process.exit(7);
      }
      return loss;
    });
  });
}
