// Trains one small model for 20 steps on the same global batches, however many ranks there are; reports the weights.
// Arguments: loop (custom | compiled | fit | fitDataset | none), optimizer (sgd | adam), tfjs backend (acc | cpu).
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [loop, optimizerName, backend = 'acc'] = process.argv.slice(2) as [
  'custom' | 'compiled' | 'fit' | 'fitDataset' | 'none',
  'sgd' | 'adam',
  'acc' | 'cpu' | undefined,
];
const GLOBAL_BATCH = 12;
const STEPS = 20;

if (backend === 'cpu') await tf.setBackend('cpu');
const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true, shuffle: false },
  seed: 7,
  engine: backend === 'cpu' ? 'tfjs' : 'acc',
});
// Each rank starts from other weights: prepare must make them rank 0's.
const seed = 100 + accelerator.processIndex;
const built = tf.sequential({
  layers: [
    tf.layers.conv2d({
      inputShape: [6, 6, 2],
      filters: 4,
      kernelSize: 3,
      activation: 'relu',
      kernelInitializer: tf.initializers.glorotNormal({ seed: accelerator.isMainProcess ? 1 : seed }),
    }),
    tf.layers.flatten(),
    tf.layers.dense({
      units: 3,
      kernelInitializer: tf.initializers.glorotNormal({ seed: accelerator.isMainProcess ? 2 : seed }),
    }),
  ],
});
const loss = (labels: tf.Tensor, logits: tf.Tensor) => tf.losses.softmaxCrossEntropy(labels, logits);
const builtOptimizer = optimizerName === 'sgd' ? tf.train.sgd(0.1) : tf.train.adam(0.01);

const rows = GLOBAL_BATCH * STEPS;
const xs = tf.sin(tf.range(0, rows * 72)).reshape([rows, 6, 6, 2]);
const ys = tf.oneHot(tf.range(0, rows, 1, 'int32').mul(7).mod(3).toInt(), 3).toFloat();
const batches = () =>
  Array.from({ length: STEPS }, (_, i) => ({
    xs: xs.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
    ys: ys.slice(i * GLOBAL_BATCH, GLOBAL_BATCH),
  }));

const losses: number[] = [];
let replays = 0;
if (loop === 'custom' || loop === 'compiled') {
  const [model, optimizer, data] = accelerator.prepare(built, builtOptimizer, batches());
  const plain = (xs: tf.Tensor, ys: tf.Tensor) => {
    const cost = optimizer.minimize(() => loss(ys, model.predict(xs) as tf.Tensor).asScalar(), true)!;
    return accelerator.reduce(cost, 'mean');
  };
  const compiled = accelerator.compile(plain);
  const step = loop === 'compiled' ? compiled : plain;
  for await (const { xs, ys } of data) {
    tf.tidy(() => {
      losses.push(step(xs, ys).dataSync()[0]!);
    });
    tf.dispose([xs, ys]);
  }
  ({ replays } = compiled);
} else if (loop !== 'none') {
  built.compile({ optimizer: builtOptimizer, loss });
  const model = accelerator.prepare(built);
  const history =
    loop === 'fit'
      ? await model.fit(xs, ys, {
          batchSize: GLOBAL_BATCH,
          epochs: 1,
          shuffle: true,
          validationData: [xs, ys],
        })
      : await model.fitDataset(tf.data.array(batches()), {
          epochs: 1,
          validationData: tf.data.array(batches()),
        });
  losses.push(...(history.history['loss'] as number[]), ...(history.history['val_loss'] as number[]));
}
reportResult({
  backend: accelerator.backendName,
  weights: built.getWeights().map((w) => [...w.dataSync()]),
  losses,
  replays,
});
await accelerator.endTraining();
