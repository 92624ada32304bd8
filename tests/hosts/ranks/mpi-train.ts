// Trains a few steps with the engine that the environment names. The argument states how rank 1
// ends.
import * as tf from '@tensorflow/tfjs';
import type { AccError } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const ending = process.argv[2]!;
const accelerator = await Accelerator.create({
  collective: { timeoutMs: ending === 'late' ? 6_000 : 60_000, joinTimeoutMs: 60_000 },
});
const isOdd = accelerator.processIndex === 1;
const model = tf.sequential({ layers: [tf.layers.dense({ units: 3, inputShape: [4] })] });
const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));

function step(): void {
  tf.tidy(() => {
    const x = tf.ones([2, 4]).mul(accelerator.processIndex + 1);
    optimizer.minimize(() => (model.predict(x) as tf.Tensor).square().mean() as tf.Scalar);
  });
}

step();
try {
  if (ending === 'throws' && isOdd) throw new Error('the culprit');
  if (ending === 'fewer') {
    if (!isOdd) step();
    accelerator.waitForEveryone();
  }
  if (ending === 'late' && isOdd) await new Promise((resolve) => setTimeout(resolve, 30_000));
  for (let i = 0; i < 3; i++) step();
  const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
  reportResult({
    engine: accelerator.numProcesses > 1 ? process.env['ACC_COLLECTIVE_ENGINE'] : 'single',
    weights,
  });
  if (ending === 'ends') await accelerator.endTraining();
} catch (error) {
  const { code, message } = error as AccError;
  if (code === undefined) throw error;
  reportResult({ code, message });
  process.exit(1);
}
