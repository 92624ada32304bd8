// Trains several small models, each for 20 steps on the same global batches for any number of
// ranks. Reports the weights of each.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';

export interface Training {
  readonly loop: 'custom' | 'compiled' | 'fit' | 'fitDataset' | 'none';
  readonly optimizer: 'sgd' | 'adam';
  readonly backend: 'acc' | 'cpu';
}

export interface Trained {
  readonly backend: string;
  readonly weights: number[][];
  readonly losses: number[];
  readonly replays: number;
}

const GLOBAL_BATCH = 12;
const STEPS = 20;

const loss = (labels: tf.Tensor, logits: tf.Tensor) => tf.losses.softmaxCrossEntropy(labels, logits);
const rows = GLOBAL_BATCH * STEPS;
const data = () => ({
  xs: tf.sin(tf.range(0, rows * 72)).reshape([rows, 6, 6, 2]),
  ys: tf.oneHot(tf.range(0, rows, 1, 'int32').mul(7).mod(3).toInt(), 3).toFloat(),
});
type Data = ReturnType<typeof data>;
const batchesOf = ({ xs, ys }: Data) =>
  Array.from({ length: STEPS }, (_, i) => ({
    xs: xs.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
    ys: ys.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
  }));

/** Each rank starts with different weights. prepare must replace them with those of rank 0. */
function modelOf({ processIndex, isMainProcess }: Accelerator): tf.Sequential {
  const seed = 100 + processIndex;
  return tf.sequential({
    layers: [
      tf.layers.conv2d({
        inputShape: [6, 6, 2],
        filters: 4,
        kernelSize: 3,
        activation: 'relu',
        kernelInitializer: tf.initializers.glorotNormal({ seed: isMainProcess ? 1 : seed }),
      }),
      tf.layers.flatten(),
      tf.layers.dense({
        units: 3,
        kernelInitializer: tf.initializers.glorotNormal({ seed: isMainProcess ? 2 : seed }),
      }),
    ],
  });
}

async function train({ loop, optimizer: name, backend }: Training): Promise<Trained> {
  if (backend === 'cpu') await tf.setBackend('cpu');
  const accelerator = await Accelerator.create({
    dataLoader: { splitBatches: true, shuffle: false },
    seed: 7,
    engine: backend === 'cpu' ? 'tfjs' : 'acc',
  });
  const built = modelOf(accelerator);
  const optimizer = name === 'sgd' ? tf.train.sgd(0.1) : tf.train.adam(0.01);
  const run = { custom: ownLoop, compiled: ownLoop, fit, fitDataset: fit, none: () => NOTHING };
  const { losses, replays } = await run[loop](accelerator, { loop, built, optimizer });
  const trained = {
    backend: accelerator.backendName,
    weights: built.getWeights().map((w) => [...w.dataSync()]),
    losses,
    replays,
  };
  accelerator.freeMemory();
  built.dispose();
  disposeOptimizers(optimizer);
  return trained;
}

interface Subject {
  readonly loop: Training['loop'];
  readonly built: tf.Sequential;
  readonly optimizer: tf.Optimizer;
}
type Ran = Pick<Trained, 'losses' | 'replays'>;
const NOTHING: Ran = { losses: [], replays: 0 };

async function ownLoop(accelerator: Accelerator, { loop, built, optimizer: own }: Subject): Promise<Ran> {
  const [model, optimizer, batches] = accelerator.prepare(built, own, batchesOf(data()));
  const plain = (xs: tf.Tensor, ys: tf.Tensor) => {
    const cost = optimizer.minimize(() => loss(ys, model.predict(xs) as tf.Tensor).asScalar(), true)!;
    return accelerator.reduce(cost, 'mean');
  };
  const compiled = accelerator.compile(plain);
  const step = loop === 'compiled' ? compiled : plain;
  const losses: number[] = [];
  for await (const { xs, ys } of batches) {
    tf.tidy(() => {
      losses.push(step(xs, ys).dataSync()[0]!);
    });
    tf.dispose([xs, ys]);
  }
  return { losses, replays: compiled.replays };
}

async function fit(accelerator: Accelerator, { loop, built, optimizer }: Subject): Promise<Ran> {
  built.compile({ optimizer, loss });
  const model = accelerator.prepare(built);
  const { xs, ys } = data();
  const { history } =
    loop === 'fit'
      ? await model.fit(xs, ys, {
          batchSize: GLOBAL_BATCH,
          epochs: 1,
          shuffle: true,
          validationData: [xs, ys],
        })
      : await model.fitDataset(tf.data.array(batchesOf({ xs, ys })), {
          epochs: 1,
          validationData: tf.data.array(batchesOf({ xs, ys })),
        });
  return { losses: [...(history['loss'] as number[]), ...(history['val_loss'] as number[])], replays: 0 };
}

export default async function trainAll(trainings: readonly Training[]): Promise<Trained[]> {
  const results: Trained[] = [];
  for (const each of trainings) results.push(await train(each));
  await tf.setBackend('acc');
  return results;
}
