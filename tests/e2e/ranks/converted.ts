import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, parallelize } from '@acc/core';
import { reportResult } from '@acc/testkit';

/** Trains a step with the options of a config file. */
async function trained(file: string): Promise<object> {
  process.env['ACC_CONFIG_FILE'] = file;
  try {
    const accelerator = await Accelerator.create();
    const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [2], units: 2 })] });
    if (accelerator.mesh.size('tensor') > 1) parallelize(model, { '*': 'column' });
    const [, optimizer] = accelerator.prepare(model, tf.train.adam(0.1));
    accelerator.accumulate(
      () =>
        optimizer.minimize(() => tf.mean(tf.square(model.apply(tf.ones([2, 2])) as tf.Tensor)).asScalar()),
      { last: true },
    );
    const { mesh, gradientAccumulationSteps: steps } = accelerator;
    accelerator.freeMemory();
    tf.disposeVariables();
    return { axes: mesh.axes, steps };
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code, message: error.message };
  }
}

const results: Record<string, object> = {};
for (const file of process.argv.slice(2)) results[file.split('/').at(-1)!] = await trained(file);
reportResult(results);
