// Trains a model for so many steps, deterministic, on the same global batches however many ranks there are; reports its weights.
// Arguments: model, loop (custom | fit | fitDataset), micro-batches to a step, tfjs backend (acc | cpu), precision, steps, layers
// between checkpoints (0: none).
import { createHash } from 'node:crypto';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as models from './deterministic-models.js';

const [name, loop, accumulation, backend, precision, stepCount, checkpointEvery] = process.argv.slice(2) as [
  keyof typeof models,
  'custom' | 'fit' | 'fitDataset',
  string,
  'acc' | 'cpu',
  'no' | 'bf16' | 'fp16',
  string,
  string,
];
const GLOBAL_BATCH = 16;
const steps = Number(stepCount);
const EPOCHS = 2;

if (backend === 'cpu') await tf.setBackend('cpu');
const accelerator = await Accelerator.create({
  deterministic: true,
  mixedPrecision: precision,
  ...(checkpointEvery !== '0' && { checkpointEvery: Number(checkpointEvery) }),
  gradientAccumulationSteps: Number(accumulation),
  gradientClipping: { norm: 1 },
  dataLoader: { splitBatches: true },
  seed: 7,
  engine: backend === 'cpu' ? 'tfjs' : 'acc',
});
// Half a batch is left at the end of each epoch.
const rows = (GLOBAL_BATCH * (steps * Number(accumulation))) / EPOCHS - GLOBAL_BATCH / 2;
const { model: built, xs, ys, loss } = models[name](rows);
const builtOptimizer = tf.train.adam(0.01);
const losses: number[] = [];

if (loop === 'custom') {
  const loader = new DataLoader({ xs, ys }, { batchSize: GLOBAL_BATCH, shuffle: true });
  const [model, optimizer, data] = accelerator.prepare(built, builtOptimizer, loader);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for await (const batch of data) {
      const given = batch as { xs: tf.Tensor; ys: tf.Tensor };
      const cost = accelerator.accumulate(() =>
        optimizer.minimize(() => {
          const logits = model.apply(given.xs, { training: true }) as tf.Tensor;
          const scale = tf.randomUniform(
            [given.xs.shape[0]!, ...logits.shape.slice(1).map(() => 1)],
            0.9,
            1.1,
          );
          return loss(given.ys, logits.mul(scale)).asScalar();
        }, true),
      );
      losses.push(tf.tidy(() => accelerator.reduce(cost!, 'mean').dataSync()[0]!));
      tf.dispose([given, cost!]);
    }
  }
} else {
  built.compile({ optimizer: builtOptimizer, loss, metrics: ['accuracy'] });
  const model = accelerator.prepare(built);
  const batches = Array.from({ length: Math.floor(rows / GLOBAL_BATCH) }, (_, i) => ({
    xs: xs.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
    ys: ys.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
  }));
  const { history } =
    loop === 'fit'
      ? await model.fit(xs, ys, {
          batchSize: GLOBAL_BATCH,
          epochs: EPOCHS,
          validationSplit: 0,
          verbose: 0,
          validationData: [xs, ys],
        })
      : await model.fitDataset(tf.data.array(batches), {
          epochs: EPOCHS,
          verbose: 0,
          validationData: tf.data.array(batches),
        });
  losses.push(...Object.values(history as Record<string, number[]>).flat());
}
const weights = built.getWeights().map((weight) => weight.dataSync() as Float32Array);
const hash = createHash('sha256');
for (const values of weights)
  hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
reportResult({
  weights: hash.digest('hex'),
  some: weights.map((values) => Array.from(values.slice(0, 3))),
  losses,
  tensors: tf.memory().numTensors,
});
await accelerator.endTraining();
