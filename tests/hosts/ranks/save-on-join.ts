// Trains alone until it is asked to end, and never saves by itself. With a second rank it reports at
// which step it goes on, and ends. Its argument is the folder of checkpoints.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';

const accelerator = await Accelerator.create({ checkpoint: { dir: process.argv[2]! } });
const x = tf.variable(tf.scalar(0));
const loader = new DataLoader(
  Array.from({ length: 64 }, (_, i) => i),
  { batchSize: 8 },
);
const [optimizer, data] = accelerator.prepare(tf.train.sgd(0.1), loader);
const train = (batch: tf.Tensor): void => {
  optimizer.minimize(() => x.sub(batch.mean()).square().asScalar(), false, [x]);
  batch.dispose();
};
const restored = await accelerator.loadState('latest', { ifPresent: true });
if (restored && accelerator.numProcesses === 2) {
  accelerator.print(`resumed at ${restored.step} with 2 ranks`);
} else {
  let step = restored?.step ?? 0;
  process.on('exit', () => console.log(`last step ${step}`));
  for (;;) {
    for await (const batch of data) {
      train(batch as tf.Tensor);
      if (++step === 10) console.log('under way');
    }
  }
}
await accelerator.endTraining();
