// Trains one small model on 46 rows in windows of 12, each as one batch or as 3 micro-batches, with
// each kind of loop, with and without clipping. Reports weights and observations by loop, micro-batches and clipping: `fit 3 clipped`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';

const WINDOW = 12;
const ROWS = 46;
const CLIPPING = { norm: 0.3, value: 0.1 };

const dense = (units: number, seed: number, more: object = {}) =>
  tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });
const data = () => ({
  xs: tf.sin(tf.range(0, ROWS * 4)).reshape([ROWS, 4]) as tf.Tensor2D,
  ys: tf.cos(tf.range(0, ROWS * 3)).reshape([ROWS, 3]) as tf.Tensor2D,
  // The number of tokens of each row, 0 to 6.
  tokens: tf.range(0, ROWS, 1, 'int32').mul(5).mod(7).toFloat(),
});

interface Run {
  readonly accelerator: Accelerator;
  readonly model: tf.Sequential;
  readonly adam: tf.Optimizer;
  readonly batchSize: number;
}

async function train(loop: string, steps: number, clips: boolean): Promise<object> {
  const accelerator = await Accelerator.create({
    engine: tf.getBackend() === 'cpu' ? 'tfjs' : 'acc',
    // A loss of the user would also count filling rows.
    dataLoader: { splitBatches: true, evenBatches: false },
    gradientAccumulationSteps: steps,
    seed: 5,
    ...(clips && { gradientClipping: CLIPPING }),
    ...(loop === 'each' && { ddp: { syncEachBatch: true } }),
  });
  const model = tf.sequential({
    layers: [dense(5, 1, { inputShape: [4], activation: 'tanh' }), dense(3, 2)],
  });
  const run = { accelerator, model, adam: tf.train.adam(0.02), batchSize: WINDOW / steps };
  const seen = loop.startsWith('fit') ? await fit(run, loop) : await custom(run, loop, clips);
  const { iterations } = run.adam;
  const weights = model.getWeights().map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  model.dispose();
  run.adam.dispose();
  return { weights, iterations, ...seen };
}

async function custom({ accelerator, model, adam, batchSize }: Run, loop: string, clips: boolean) {
  const norms: number[] = [];
  const syncs: boolean[] = [];
  const loader = new DataLoader(data(), { batchSize, shuffle: true });
  const [, optimizer, batches] = accelerator.prepare(model, adam, loader);
  for (let epoch = 0; epoch < 2; epoch++) {
    for await (const batch of batches) {
      const errors = () => tf.squaredDifference(batch.ys, model.apply(batch.xs) as tf.Tensor);
      const meanOverTokens = () => {
        const count = tf.sum(batch.tokens);
        const sum = tf.sum(tf.mul(tf.mean(errors(), 1), batch.tokens));
        return accelerator.weighLoss(tf.div(sum, tf.maximum(count, 1)) as tf.Scalar, count);
      };
      const mean = () => tf.mean(errors()) as tf.Scalar;
      accelerator.accumulate(() => {
        tf.tidy(() => void optimizer.minimize(loop === 'tokens' ? meanOverTokens : mean));
      });
      syncs.push(accelerator.syncGradients);
      if (accelerator.syncGradients && clips) norms.push(accelerator.gradientNorm!);
      tf.dispose([batch.xs, batch.ys, batch.tokens]);
    }
  }
  const { calls } = Object.values(accelerator.communication())[0]!;
  return { norms, syncs, calls };
}

async function fit({ accelerator, model, adam, batchSize }: Run, loop: string) {
  model.compile({ optimizer: adam, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const { xs, ys } = data();
  const rows = (x: tf.Tensor2D) => tf.data.array(x.arraySync());
  const { history } =
    loop === 'fit'
      ? await model.fit(xs, ys, { batchSize, epochs: 2, validationSplit: 0.1, verbose: 0 })
      : await model.fitDataset(
          tf.data.zip({ xs: rows(xs), ys: rows(ys) }).batch(batchSize) as tf.data.Dataset<never>,
          { epochs: 2, verbose: 0 },
        );
  return { history };
}

export default async function accumulate(backend: 'acc' | 'cpu'): Promise<Record<string, object>> {
  await tf.setBackend(backend);
  const results: Record<string, object> = {};
  for (const loop of ['custom', 'tokens', 'fit', 'fitDataset']) {
    for (const steps of [1, 3]) {
      results[`${loop} ${steps}`] = await train(loop, steps, false);
      results[`${loop} ${steps} clipped`] = await train(loop, steps, true);
    }
  }
  results['each 3'] = await train('each', 3, false);
  await tf.setBackend('acc');
  return results;
}
