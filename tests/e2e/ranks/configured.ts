import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

/** The outcome of one set of options in the program, beside variables and the config file. */
async function created(options: AcceleratorOptions): Promise<object> {
  try {
    const accelerator = await Accelerator.create(options);
    const { gradientAccumulationSteps: steps, numProcesses } = accelerator;
    const dtype = accelerator.autocast(() => {
      const product = tf.matMul(tf.fill([1, 1], 257), tf.ones([1, 1]));
      // 257 is not a bf16 number.
      return product.dataSync()[0] === 257 ? 'float32' : 'bf16';
    });
    accelerator.freeMemory();
    return { steps, numProcesses, dtype };
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code };
  }
}

reportResult([
  await created({}),
  await created({ gradientAccumulationSteps: 2, mixedPrecision: 'no' }),
  await created({ strategy: 'fsdp' }),
]);
