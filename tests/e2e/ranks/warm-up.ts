// Runs first in each job of continuous ranks: what lasts as long as a process exists afterwards.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';

export default async function warmUp(collective: AcceleratorOptions['collective']): Promise<void> {
  const accelerator = await Accelerator.create({ ...(collective && { collective }) });
  const weight = tf.variable(tf.ones([2, 2]), true, 'warmUp');
  const optimizer = tf.train.adam();
  accelerator.prepare([weight], optimizer);
  optimizer.minimize(() => weight.matMul(weight as tf.Tensor2D).sum() as tf.Scalar);
  accelerator.freeMemory(weight, optimizer);
  weight.dispose();
  optimizer.dispose();
}
