// Trains a small model with the settings of a case of `cases.mjs`: `train.ts <settings as JSON> <folder>`.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { moduleDataset } from '@acc/data';
import { moe } from '@acc/transformer';
import { keepBusy, slowTracker } from './around.js';

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
  /** Evaluations are predictions of the prepared model. */
  readonly predicts?: boolean;
  /** Reads the values of all weights in every so many steps. */
  readonly readEvery?: number;
  /** Milliseconds for which a tracker keeps the main thread in each call. */
  readonly trackerMs?: number;
  readonly logEvery?: number;
  /** The number of values of a number that the step gets. Default 1. */
  readonly numbers?: number;
  readonly activation?: 'relu' | 'sigmoid';
  /** A layer whose result the loss does not use. */
  readonly hasUnusedBranch?: boolean;
  /** The step in which rank 1 changes its weights. */
  readonly changesRank1At?: number;
  /** The share of samples with labels of others. */
  readonly noise?: number;
  /** Keeps the state of the optimizer in files. */
  readonly offloads?: boolean;
  /** The number of experts between the layers, and the factor of the first one's router weights. */
  readonly experts?: { readonly count: number; readonly skew: number };
  /** The step from which on other programs use all processors. */
  readonly busyFrom?: number;
  readonly garbageOfRank1?: number;
}

const [given, projectDir] = process.argv.slice(2) as [string, string];
const settings = JSON.parse(given) as Settings;
const { steps, hidden = 768, layers = 3, batch = 128, learningRate = 1e-4 } = settings;

const accelerator = await Accelerator.create({
  projectDir,
  logWith: settings.trackerMs === undefined ? [] : [slowTracker(settings.trackerMs)],
  autoLog: true,
  ...(settings.offloads && { fsdp: { offload: { optimizer: true, to: `${projectDir}/state` } } }),
  ...settings.options,
});
const biasInitializer = tf.initializers.constant({ value: settings.bias ?? 0 });
const dense = (i: number, inputShape?: number[]) =>
  tf.layers.dense({
    ...{ name: `layer${i}`, units: hidden, activation: settings.activation ?? 'relu', biasInitializer },
    ...(inputShape && { inputShape }),
  });
const routed = settings.experts && moe({ experts: settings.experts.count, topK: 1, balanceLoss: 0 });
const model = tf.sequential({
  layers: [
    ...Array.from({ length: layers }, (_, i) => dense(i, i === 0 ? [WIDTH] : undefined)),
    ...(routed ? [routed] : []),
    tf.layers.dense({ name: 'head', units: CLASSES }),
  ],
});
if (settings.experts) skewRouter(settings.experts);

/** The first expert gets most samples. */
function skewRouter({ count, skew }: { readonly count: number; readonly skew: number }): void {
  const router = routed!.trainableWeights.find(({ shape }) => shape[1] === count)!;
  const factors = tf.tensor2d([[skew, ...new Array<number>(count - 1).fill(1)]]);
  router.write(tf.tidy(() => tf.mul(tf.abs(router.read()), factors)));
  factors.dispose();
}

/** Is trained with the model, and has no part in its loss. */
const unused = settings.hasUnusedBranch ? tf.variable(tf.ones([64, 64]), true, 'unused') : undefined;
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
  const [count] = xs.shape as [number];
  const labels = settings.isRandom
    ? tf.randomUniform([count], 0, CLASSES, 'int32')
    : noisy(tf.reshape(ys, [-1]));
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

/** Labels of which some are those of other samples. */
function noisy(labels: tf.Tensor): tf.Tensor {
  if (settings.noise === undefined) return labels;
  const others = tf.randomUniform(labels.shape, 0, CLASSES, 'int32');
  const isOther = tf.less(tf.randomUniform(labels.shape), settings.noise);
  return tf.where(isOther, others, tf.cast(labels, 'int32'));
}

const trained = unused
  ? [...model.trainableWeights.map((weight) => weight.read() as tf.Variable), unused]
  : undefined;

function train(xs: tf.Tensor, ys: tf.Tensor, factor = 1): tf.Scalar {
  const weighed = () =>
    (settings.numbers ? tf.mul(lossOf(xs, ys), 1 + 0.001 * factor) : lossOf(xs, ys)) as tf.Scalar;
  const loss = optimizer.minimize(weighed, true, trained)!;
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
const plain: typeof train = settings.isPipelined ? inStages : train;
const step = settings.compiles ? accelerator.compile(plain) : plain;

function everySoOften(xs: tf.Tensor): void {
  const isDue = (every = Infinity) => done % every === 0;
  if (isDue(settings.printEvery)) JSON.stringify(model.getWeights().map((weight) => weight.arraySync()));
  if (isDue(settings.evaluateEvery))
    for (let i = 0; i < 20; i++)
      tf.tidy(() => void (settings.predicts ? prepared.predict(xs) : model.apply(xs)));
  if (isDue(settings.readEvery)) for (const weight of model.getWeights()) weight.dataSync();
  if (settings.trackerMs !== undefined && isDue(settings.logEvery)) accelerator.log({ done });
  if (settings.leaks) kept.push(tf.clone(xs), tf.mul(xs, 2));
  const garbage = isRank1 ? (settings.garbageOfRank1 ?? settings.garbage) : settings.garbage;
  if (garbage) {
    // Objects that outlive a few steps are the most expensive ones.
    living[done % 4] = Array.from({ length: garbage }, (_, i) => ({ i, at: [i] }));
  }
  if (isRank1 && done === settings.changesRank1At)
    for (const weight of model.trainableWeights) weight.write(tf.tidy(() => tf.mul(weight.read(), 1.01)));
  if (done === settings.busyFrom && accelerator.isMainProcess) keepBusy();
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
  const run = () => tf.dispose(step(xs, ys, 1 + (done % (settings.numbers ?? 1))));
  if (settings.accumulates) accelerator.accumulate(run);
  else run();
  done++;
  everySoOften(xs);
  if (done % (settings.saveEvery ?? Infinity) === 0) await accelerator.saveState();
  tf.dispose([xs, ys]);
  if (done === steps) break;
}
await accelerator.endTraining();
