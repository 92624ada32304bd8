// Runs all-reduce in shared memory until it is killed.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create({ collective: { engine: 'shm' } });
for (let i = 0; ; i++) {
  tf.tidy(() => accelerator.reduce(tf.ones([100_000])));
  if (i === 10) process.stdout.write(`rank ${accelerator.processIndex} is process ${process.pid}\n`);
}
