// Trains models deterministically, one after another, on the same global batches for any number of
// ranks. Returns their weights.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { disposeMasks } from '../tensor-parallel/dispose-masks.js';
import * as models from './deterministic-models.js';
import { hashOfWeights } from './deterministic-runs.js';

export interface DeterministicCase {
  readonly model: keyof typeof models;
  readonly loop: 'custom' | 'fit' | 'fitDataset';
  readonly steps: number;
  /** The number of micro-batches in a step. */
  readonly accumulation?: number;
  /** Whether each of them reduces its gradients. */
  readonly syncEachBatch?: boolean;
  readonly backend?: 'acc' | 'cpu';
  readonly precision?: 'no' | 'bf16' | 'fp16';
  /** The number of layers between checkpoints. */
  readonly checkpointEvery?: number;
}

export interface Trained {
  /** A hash of the bytes of all weights. */
  readonly weights: string;
  readonly some: number[][];
  readonly losses: number[];
}

const GLOBAL_BATCH = 16;
const EPOCHS = 2;

async function train(given: DeterministicCase): Promise<Trained> {
  const { backend = 'acc', accumulation = 1, precision = 'no', checkpointEvery, syncEachBatch } = given;
  await tf.setBackend(backend);
  const accelerator = await Accelerator.create({
    deterministic: true,
    mixedPrecision: precision,
    ...(checkpointEvery !== undefined && { checkpointEvery }),
    ...(syncEachBatch && { ddp: { syncEachBatch } }),
    gradientAccumulationSteps: accumulation,
    gradientClipping: { norm: 1 },
    dataLoader: { splitBatches: true },
    seed: 7,
    engine: backend === 'cpu' ? 'tfjs' : 'acc',
  });
  // Half a batch remains at the end of each epoch.
  const rows = (GLOBAL_BATCH * (given.steps * accumulation)) / EPOCHS - GLOBAL_BATCH / 2;
  const task = models[given.model](rows);
  const losses = await (given.loop === 'custom' ? ownLoop : fit)(accelerator, task, given);
  const weights = task.model.getWeights().map((weight) => weight.dataSync() as Float32Array);
  const hash = hashOfWeights(task.model);
  accelerator.freeMemory();
  disposeMasks(task.model);
  tf.disposeVariables();
  return {
    weights: hash,
    some: weights.map((values) => Array.from(values.slice(0, 3))),
    losses,
  };
}

async function ownLoop(
  accelerator: Accelerator,
  { model: built, xs, ys, loss }: models.Task,
): Promise<number[]> {
  const loader = new DataLoader({ xs, ys }, { batchSize: GLOBAL_BATCH, shuffle: true });
  const [model, optimizer, data] = accelerator.prepare(built, tf.train.adam(0.01), loader);
  const losses: number[] = [];
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
  return losses;
}

async function fit(
  accelerator: Accelerator,
  { model: built, xs, ys, loss }: models.Task,
  { loop }: DeterministicCase,
): Promise<number[]> {
  built.compile({ optimizer: tf.train.adam(0.01), loss, metrics: ['accuracy'] });
  const model = accelerator.prepare(built);
  const batches = Array.from({ length: Math.floor(xs.shape[0]! / GLOBAL_BATCH) }, (_, i) => ({
    xs: xs.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
    ys: ys.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
  }));
  const epochs = { epochs: EPOCHS, verbose: 0 } as const;
  const { history } =
    loop === 'fit'
      ? await model.fit(xs, ys, {
          ...epochs,
          batchSize: GLOBAL_BATCH,
          validationSplit: 0,
          validationData: [xs, ys],
        })
      : await model.fitDataset(tf.data.array(batches), {
          ...epochs,
          validationData: tf.data.array(batches),
        });
  return Object.values(history as Record<string, number[]>).flat();
}

export default async function deterministic(cases: readonly DeterministicCase[]): Promise<Trained[]> {
  const results: Trained[] = [];
  for (const given of cases) results.push(await train(given));
  await tf.setBackend('acc');
  return results;
}
