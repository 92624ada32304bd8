// Trains one small model on windows of 12 rows, as one batch or as 3 micro-batches, with clipping,
// in each precision, and with activation checkpointing. Reports weights and observations by
// request: `fp16 3`, `fp16 3 again`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';
import { FORMATS, KINDS, trainIn8Bits } from './eight-bits.js';

const WINDOW = 12;
const ROWS = 96;

const dense = (units: number, seed: number, more: object = {}) =>
  tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });
const data = () => ({
  xs: tf.sin(tf.range(0, ROWS * 4)).reshape([ROWS, 4]) as tf.Tensor2D,
  ys: tf.cos(tf.range(0, ROWS * 3)).reshape([ROWS, 3]) as tf.Tensor2D,
});

const PRECISIONS = ['no', 'bf16', 'fp16', 'int8', 'fp8'] as const;
type Precision = (typeof PRECISIONS)[number];

async function train(mixedPrecision: Precision, steps: number, again: boolean): Promise<object> {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    mixedPrecision,
    // The scale is far too large, so the gradients of the first window are infinite. After that it
    // fits.
    amp: {
      lossScale: { initial: 2 ** 24, backoffFactor: 2 ** -12 },
      ...((mixedPrecision === 'int8' || mixedPrecision === 'fp8') && { exclude: [] }),
    },
    dataLoader: { splitBatches: true },
    gradientAccumulationSteps: steps,
    gradientClipping: { norm: 0.3, value: 0.1 },
    seed: 5,
    ...(again && { checkpointEvery: 1 }),
  });
  const model = tf.sequential({
    layers: [
      dense(5, 1, { inputShape: [4], activation: 'tanh' }),
      dense(5, 2, { activation: 'tanh' }),
      dense(3, 3),
    ],
  });
  const loader = new DataLoader(data(), { batchSize: WINDOW / steps, shuffle: true });
  const [, optimizer, batches] = accelerator.prepare(model, tf.train.sgd(0.5), loader);
  const skipped: boolean[] = [];
  const norms: number[] = [];
  for (let epoch = 0; epoch < 3; epoch++) {
    for await (const batch of batches) {
      accelerator.accumulate(() => {
        tf.tidy(
          () =>
            void optimizer.minimize(
              () =>
                tf.losses.meanSquaredError(
                  batch.ys,
                  model.apply(batch.xs, { training: true }) as tf.Tensor,
                ) as tf.Scalar,
            ),
        );
      });
      if (accelerator.syncGradients) {
        skipped.push(accelerator.optimizerStepWasSkipped);
        if (!accelerator.optimizerStepWasSkipped) norms.push(accelerator.gradientNorm!);
      }
      tf.dispose([batch.xs, batch.ys]);
    }
  }
  const weights = model.getWeights().map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  model.dispose();
  disposeOptimizers(optimizer);
  return { weights, skipped, norms };
}

export default async function precisions(): Promise<Record<string, object>> {
  const results: Record<string, object> = {};
  // Three ranks train in 8 bits alone.
  const isThree = process.env['WORLD_SIZE'] === '3';
  for (const precision of isThree ? [] : PRECISIONS) {
    for (const steps of [1, 3]) {
      results[`${precision} ${steps}`] = await train(precision, steps, false);
      results[`${precision} ${steps} again`] = await train(precision, steps, true);
    }
  }
  for (const format of FORMATS)
    for (const kind of KINDS) {
      // The number of ranks divides the number of shards, a power of two.
      if (kind === 'deterministic' && isThree) continue;
      // Both refuse histories.
      if (format === 'delayed fp8' && (kind === 'deterministic' || kind === 'tensor')) continue;
      results[`${format}, ${kind}`] = await trainIn8Bits(format, kind);
    }
  return results;
}
