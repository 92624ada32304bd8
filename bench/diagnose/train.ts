// Trains a small model with the settings of a case of `cases.mjs`: `train.ts <settings as JSON> <folder>`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { moduleDataset } from '@acc/data';

const WIDTH = 256;
const CLASSES = 10;

interface Settings {
  readonly steps: number;
  readonly options?: AcceleratorOptions;
  readonly hidden?: number;
  readonly layers?: number;
  readonly batch?: number;
  readonly learningRate?: number;
  readonly samples?: { readonly rounds?: number; readonly readMs?: number };
  readonly numWorkers?: number;
  readonly compiles?: boolean;
  readonly accumulates?: boolean;
  /** Converts all weights to text in every so many steps. */
  readonly printEvery?: number;
  readonly evaluateEvery?: number;
  readonly saveEvery?: number;
  /** Objects that a step makes. */
  readonly garbage?: number;
  readonly leaks?: boolean;
  /** Labels without a relation to their samples. */
  readonly isRandom?: boolean;
  readonly nanFrom?: number;
  /** How often rank 1 computes its forward pass. */
  readonly passesOfRank1?: number;
  /** Milliseconds for which rank 1 waits in each step. */
  readonly pauseOfRank1?: number;
}

const [given, projectDir] = process.argv.slice(2) as [string, string];
const settings = JSON.parse(given) as Settings;
const { steps, hidden = 768, layers = 3, batch = 128, learningRate = 1e-4 } = settings;

const accelerator = await Accelerator.create({ projectDir, logWith: [], autoLog: true, ...settings.options });
const dense = (units: number, activation?: 'relu') =>
  tf.layers.dense({ units, ...(activation && { activation }) });
const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: hidden, activation: 'relu', inputShape: [WIDTH] }),
    ...Array.from({ length: layers - 1 }, () => dense(hidden, 'relu')),
    dense(CLASSES),
  ],
});
const source = await moduleDataset<{ xs: Float32Array; ys: Int32Array }>(
  new URL('./samples.mjs', import.meta.url),
  { args: [{ width: WIDTH, classes: CLASSES, ...settings.samples }] },
);
const { numWorkers = 0 } = settings;
const [, optimizer, loader] = accelerator.prepare(
  model,
  tf.train.adam(learningRate),
  new DataLoader(source, { batchSize: batch, numWorkers }),
);
await accelerator.initTrackers('sick');

let done = 0;
const isRank1 = accelerator.processIndex === 1;
const kept: tf.Tensor[] = [];
const living: unknown[] = [];

function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const labels = settings.isRandom ? tf.randomUniform([batch], 0, CLASSES, 'int32') : tf.reshape(ys, [batch]);
  const passes = isRank1 ? (settings.passesOfRank1 ?? 1) : 1;
  const logits = Array.from({ length: passes }, () => model.apply(xs, { training: true }) as tf.Tensor);
  const loss = tf.losses.softmaxCrossEntropy(tf.oneHot(tf.cast(labels, 'int32'), CLASSES), tf.addN(logits));
  const isBad = done >= (settings.nanFrom ?? Infinity);
  return (isBad ? tf.add(loss, tf.log(tf.sub(loss, tf.add(loss, 1)))) : loss) as tf.Scalar;
}

const train = (xs: tf.Tensor, ys: tf.Tensor) => optimizer.minimize(() => lossOf(xs, ys), true)!;
const step = settings.compiles ? accelerator.compile(train) : train;

function everySoOften(xs: tf.Tensor): void {
  const isDue = (every = Infinity) => done % every === 0;
  if (isDue(settings.printEvery)) JSON.stringify(model.getWeights().map((weight) => weight.arraySync()));
  if (isDue(settings.evaluateEvery)) for (let i = 0; i < 20; i++) tf.tidy(() => void model.apply(xs));
  if (settings.leaks) kept.push(tf.clone(xs), tf.mul(xs, 2));
  if (settings.garbage) {
    const { garbage } = settings;
    // Objects that outlive a few steps are the most expensive ones.
    living[done % 4] = Array.from({ length: garbage }, (_, i) => ({ i, at: [i] }));
  }
  if (isRank1 && settings.pauseOfRank1)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, settings.pauseOfRank1);
}

for await (const { xs, ys } of loader) {
  const run = () => tf.dispose(step(xs, ys));
  if (settings.accumulates) accelerator.accumulate(run);
  else run();
  done++;
  everySoOften(xs);
  if (done % (settings.saveEvery ?? Infinity) === 0) await accelerator.saveState();
  tf.dispose([xs, ys]);
  if (done === steps) break;
}
await accelerator.endTraining();
