// Joins the job and reports the result: the ranks, and the place of this one.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

try {
  const accelerator = await Accelerator.create();
  const sum = accelerator.reduce(tf.tensor1d([accelerator.processIndex + 1]), 'sum');
  console.log(
    `met ${accelerator.processIndex}/${accelerator.numProcesses} local ${accelerator.localProcessIndex}/${accelerator.localNumProcesses} sum ${sum.dataSync()[0]}`,
  );
  await accelerator.endTraining();
} catch (error) {
  console.log(`failed ${(error as { code?: string }).code}: ${(error as Error).message}`);
  process.exitCode = 1;
}
