// Trains, saves and exits with an error. The second time it resumes.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const projectDir = process.argv[2]!;
const accelerator = await Accelerator.create({
  logWith: ['jsonl'],
  projectDir,
  checkpoint: { dir: projectDir },
});
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
const restored = await accelerator.loadState(undefined, { ifPresent: true });
await accelerator.initTrackers('resumed', { attempt: restored ? 2 : 1 });
for (let i = 0; i < 3; i++) {
  optimizer.minimize(() => tf.tidy(() => tf.mean(model.apply(tf.ones([2, 2])) as tf.Tensor)).asScalar());
  accelerator.log({ i });
}
if (!restored) {
  await accelerator.saveState();
  throw new Error('the power goes out');
}
await accelerator.endTraining();
