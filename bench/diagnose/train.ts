// Trains a small model with the settings of a case of `cases.mjs`: `train.ts <settings as JSON> <folder>`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { moduleDataset } from '@acc/data';

const WIDTH = 256;
const CLASSES = 10;
const HANG_MS = 20_000;

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
  /** How often the rank whose turn it is, and the others, compute theirs. */
  readonly passesByTurn?: readonly [own: number, others: number];
  /** The step after which rank 1 makes no call any more. */
  readonly stopsRank1At?: number;
  /** The loader is not prepared, so all ranks read the same samples. */
  readonly sharesSamples?: boolean;
  /** In every so many steps, the loss is 1,000 times as large. */
  readonly outliersEvery?: number;
  /** Of all units at the start. */
  readonly bias?: number;
  /** Reads the loss within the step. */
  readonly readsInStep?: boolean;
  /** Trains the layers in stages. */
  readonly isPipelined?: boolean;
  /** Milliseconds for which rank 1 waits in each step. */
  readonly pauseOfRank1?: number;
}

const [given, projectDir] = process.argv.slice(2) as [string, string];
const settings = JSON.parse(given) as Settings;
const { steps, hidden = 768, layers = 3, batch = 128, learningRate = 1e-4 } = settings;

const accelerator = await Accelerator.create({ projectDir, logWith: [], autoLog: true, ...settings.options });
const biasInitializer = tf.initializers.constant({ value: settings.bias ?? 0 });
const dense = (i: number, inputShape?: number[]) =>
  tf.layers.dense({
    ...{ name: `layer${i}`, units: hidden, activation: 'relu', biasInitializer },
    ...(inputShape && { inputShape }),
  });
const model = tf.sequential({
  layers: [
    ...Array.from({ length: layers }, (_, i) => dense(i, i === 0 ? [WIDTH] : undefined)),
    tf.layers.dense({ name: 'head', units: CLASSES }),
  ],
});
const source = await moduleDataset<{ xs: Float32Array; ys: Int32Array }>(
  new URL('./samples.mjs', import.meta.url),
  { args: [{ width: WIDTH, classes: CLASSES, ...settings.samples }] },
);
const { numWorkers = 0 } = settings;
const data = new DataLoader(source, { batchSize: batch, numWorkers });
const [prepared, optimizer] = accelerator.prepare(model, tf.train.adam(learningRate));
const loader = settings.sharesSamples ? data : accelerator.prepare(data);
await accelerator.initTrackers('sick');

let done = 0;
const isRank1 = accelerator.processIndex === 1;
const isTurn = () => done % accelerator.numProcesses === accelerator.processIndex;
const kept: tf.Tensor[] = [];
const living: unknown[] = [];

function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const labels = settings.isRandom ? tf.randomUniform([batch], 0, CLASSES, 'int32') : tf.reshape(ys, [batch]);
  const [own, others] = settings.passesByTurn ?? [1, 1];
  const passes = isRank1 ? (settings.passesOfRank1 ?? 1) : 1;
  const logits = Array.from(
    { length: passes * (isTurn() ? own : others) },
    () => model.apply(xs, { training: true }) as tf.Tensor,
  );
  const loss = tf.losses.softmaxCrossEntropy(tf.oneHot(tf.cast(labels, 'int32'), CLASSES), tf.addN(logits));
  const isOutlier = done % (settings.outliersEvery ?? Infinity) === settings.outliersEvery! - 1;
  const isBad = done >= (settings.nanFrom ?? Infinity);
  if (isOutlier) return tf.mul(loss, 1000);
  return (isBad ? tf.add(loss, tf.log(tf.sub(loss, tf.add(loss, 1)))) : loss) as tf.Scalar;
}

function train(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const loss = optimizer.minimize(() => lossOf(xs, ys), true)!;
  if (settings.readsInStep) losses.push(loss.dataSync()[0]!);
  return loss;
}

const losses: number[] = [];
function inStages(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const labels = tf.reshape(ys, [-1]);
  const loss = staged(xs, labels);
  labels.dispose();
  return loss;
}

const staged = settings.isPipelined
  ? accelerator.pipelined(prepared, (ys, logits) =>
      tf.losses.softmaxCrossEntropy(tf.oneHot(tf.cast(ys, 'int32'), CLASSES), logits).asScalar(),
    )
  : train;
const plain = settings.isPipelined ? inStages : train;
const step = settings.compiles ? accelerator.compile(plain) : plain;

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
  if (isRank1 && settings.pauseOfRank1) pause(settings.pauseOfRank1);
  if (isRank1 && done === settings.stopsRank1At) {
    pause(HANG_MS);
    process.exit(1);
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
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
