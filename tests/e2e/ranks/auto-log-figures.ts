// Trains a linear model with autoLog, in a loop or with fit. Reports the logged figures, and which
// tensors were read when.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type Tracker } from '@acc/core';
import { reportResult } from '@acc/testkit';

interface Settings {
  readonly way: 'loop' | 'fit' | 'backward';
  readonly isOn: boolean;
  readonly every: number;
  readonly accumulation: number;
  readonly clip?: number;
  readonly projectDir: string;
}

const { way, isOn, every, accumulation, clip, projectDir } = JSON.parse(process.argv[2]!) as Settings;
const ROWS = 44;
const BATCH = 2;
const rows: { step: number; metrics: Record<string, number> }[] = [];
const tracker: Tracker = {
  name: 'memory',
  start: () => Promise.resolve(),
  log: (step, metrics) => void rows.push({ step, metrics: { ...metrics } }),
  finish: () => Promise.resolve(),
};
const accelerator = await Accelerator.create({
  logWith: [tracker],
  projectDir,
  autoLog: isOn && { every, tokensPerSample: 5 },
  gradientAccumulationSteps: accumulation,
  dataLoader: { shuffle: false },
  ...(clip !== undefined && { gradientClipping: { norm: clip, value: clip } }),
});
const dense = tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones' });
const model = tf.sequential({ layers: [dense] });
const xs = tf.tensor2d(Array.from({ length: ROWS }, (_, i) => [i / 10, 1 - (i % 3)]));
const ys = tf.tensor2d(Array.from({ length: ROWS }, (_, i) => [(i % 7) / 2]));

// Each read waits for the device.
let reads = 0;
const { backend } = tf.engine() as unknown as { backend: { readSync: (id: object) => unknown } };
const readSync = backend.readSync.bind(backend);
backend.readSync = (id) => (reads++, readSync(id));
const readsOfSteps: number[] = [];
const endStep = () => readsOfSteps.push(reads - readsOfSteps.reduce((sum, count) => sum + count, 0));

await (way === 'fit' ? fit() : loop());
await accelerator.endTraining();
xs.dispose();
ys.dispose();
model.dispose();
const rssMegabytes = process.memoryUsage.rss() / 1e6;
reportResult({ rows, readsOfSteps, rssMegabytes, tensors: tf.memory().numTensors });

async function loop(): Promise<void> {
  const loader = new DataLoader({ xs, ys }, { batchSize: BATCH, shuffle: false });
  const [, optimizer, data] = accelerator.prepare(model, tf.train.sgd(0.01), loader);
  await accelerator.initTrackers('figures');
  for await (const batch of data) {
    const loss = () => tf.losses.meanSquaredError(batch.ys, model.apply(batch.xs) as tf.Tensor) as tf.Scalar;
    accelerator.accumulate(() => {
      if (way === 'loop') return void optimizer.minimize(loss);
      const { value, grads } = accelerator.backward(loss);
      optimizer.applyGradients(grads);
      tf.dispose([value, grads]);
    });
    tf.dispose([batch.xs, batch.ys]);
    endStep();
  }
  optimizer.dispose();
}

async function fit(): Promise<void> {
  model.compile({ optimizer: tf.train.sgd(0.01), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  await accelerator.initTrackers('figures');
  await model.fit(xs, ys, { batchSize: BATCH, shuffle: false, epochs: 1, verbose: 0 });
}
