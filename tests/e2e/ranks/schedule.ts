// One loop with schedules and the noise scale, on the same global batches for any number of ranks.
// Reports the results.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, gradientNoiseScale, LRScheduler } from '@acc/core';

const ROWS = 240;
const GLOBAL_BATCH = 12;

export default async function schedule() {
  const noise = gradientNoiseScale({ decay: 0.9 });
  const accelerator = await Accelerator.create({
    dataLoader: { splitBatches: true },
    gradientAccumulationSteps: 2,
    plugins: [noise],
  });
  const xs = tf.randomNormal([ROWS, 8], 0.5, 2, 'float32', 3);
  const batches = Array.from({ length: ROWS / GLOBAL_BATCH }, (_, i) =>
    xs.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
  );
  const w = tf.variable(tf.zeros([8]), true, 'w');
  const [bySteps, bySamples] = [tf.train.adam(0.1), tf.train.adam(0.1)];
  const [, , , steps, samples, data] = accelerator.prepare(
    [w],
    bySteps,
    bySamples,
    LRScheduler.cosine(bySteps, { totalSteps: 20, warmupSteps: 3 }),
    LRScheduler.linear(bySamples, { totalSteps: 1_000, unit: 'samples', scaling: 'linear' }),
    batches.map((batch) => ({ batch })),
  );
  const rates: number[][] = [];
  for await (const { batch } of data) {
    accelerator.accumulate(() => {
      bySteps.minimize(() => batch.mul(w).sum(1).mean() as tf.Scalar);
      steps.step();
    });
    batch.dispose();
    rates.push([steps.learningRate, samples.learningRate]);
  }
  // The other optimizer, with a schedule over samples, takes a few steps of its own.
  for await (const { batch } of data) {
    accelerator.accumulate(() => bySamples.minimize(() => batch.mul(w).sum(1).mean() as tf.Scalar));
    samples.step();
    batch.dispose();
    rates.push([steps.learningRate, samples.learningRate]);
  }
  const result = { rates, critical: noise.criticalBatchSize, weights: [...w.dataSync()] };
  accelerator.freeMemory();
  tf.disposeVariables();
  return result;
}
