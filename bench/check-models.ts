/**
 * Compares tiny instances of the models with their PyTorch twins, on the backend that the job
 * names. With the same weights and batch, the loss and every gradient must agree. `check.mjs` runs
 * it.
 */
import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { countParameters, createModel, seededRandom, type BenchModel, type Sizes } from './models/index.js';

interface Values {
  readonly shape: number[];
  readonly values: number[];
}

interface Reference {
  readonly xs: Values;
  readonly ys: Values;
  readonly loss: number;
  readonly weights: readonly Values[];
  readonly grads: readonly Values[];
}

interface Workload {
  readonly sizes: Sizes;
  readonly tinySizes: Sizes;
  readonly parameterCount: number;
  /**
   * Models whose prediction is compared, because their dropout is random. The others are compared
   * in training, which includes batch normalisation.
   */
  readonly hasDropout?: boolean;
}

interface Job {
  readonly backend: string;
  /** The number of samples in the reference batch, and in the batch that a few steps train on. */
  readonly batch: number;
  readonly workloads: Readonly<Record<string, Workload>>;
  readonly referencePath: string;
}

/**
 * Both sides sum float32 in different orders. The tolerance is a few hundred roundings, relative to
 * the largest element.
 */
const TOLERANCE = 5e-5;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const references = JSON.parse(readFileSync(job.referencePath, 'utf8')) as Record<string, Reference>;
if (job.backend === 'acc') await import('@acc/kernels/register');
if (!(await tf.setBackend(job.backend))) throw new Error(`tfjs has no backend '${job.backend}'`);

let checks = 0;

function check(what: string, isRight: boolean): void {
  if (!isRight) throw new Error(`${what} (backend ${job.backend})`);
  checks++;
}

function checkClose(what: string, got: ArrayLike<number>, expected: readonly number[]): void {
  const scale = Math.max(...expected.map(Math.abs));
  const off = Math.max(...expected.map((value, i) => Math.abs(value - got[i]!)));
  // The negation also rejects NaN.
  check(`${what}: off by ${off}, scale ${scale}`, off <= TOLERANCE * scale && got.length === expected.length);
}

function checkAgainstPeer(name: string, model: BenchModel, peer: Reference, training: boolean): void {
  check(`${name}: variables`, model.variables.length === peer.weights.length);
  model.variables.forEach((variable, i) => {
    const { shape, values } = peer.weights[i]!;
    check(`${name}: shape of variable ${i}`, shape.join() === variable.shape.join());
    tf.tidy(() => variable.assign(tf.tensor(values, shape)));
  });
  const xs = tf.tensor(peer.xs.values, peer.xs.shape, isGpt(name) ? 'int32' : 'float32');
  const ids = tf.tensor(peer.ys.values, peer.ys.shape, 'int32');
  const ys = isGpt(name) ? ids : oneHot(ids, peer);
  const { value, grads } = tf.variableGrads(() => model.loss({ xs, ys }, training), [...model.variables]);
  checkClose(`${name}: loss`, value.dataSync(), [peer.loss]);
  model.variables.forEach((variable, i) => {
    checkClose(`${name}: gradient ${i}`, grads[variable.name]!.dataSync(), peer.grads[i]!.values);
  });
  tf.dispose([xs, ids, ys, value, grads]);
}

/** Whether samples and targets are token ids. */
const isGpt = (name: string): boolean => name === 'gpt' || name === 'gpt-plain';

/** The number of classes, which is the number of elements of the last bias. */
function oneHot(ids: tf.Tensor, peer: Reference): tf.Tensor {
  return tf.tidy(() => tf.oneHot(ids.toInt(), peer.weights.at(-1)!.shape[0]!).toFloat());
}

function checkTraining(name: string, model: BenchModel): void {
  const batch = model.makeBatch(job.batch, seededRandom(1));
  const optimizer = tf.train.adam(0.01);
  const step = () => optimizer.minimize(() => model.loss(batch, true))!;
  step();
  const lossBefore = tf.tidy(() => model.loss(batch, false).dataSync()[0]!);
  const tensorsBefore = tf.memory().numTensors;
  for (let i = 0; i < 20; i++) step();
  check(`${name}: tensors leaked`, tf.memory().numTensors === tensorsBefore);
  const loss = tf.tidy(() => model.loss(batch, false).dataSync()[0]!);
  check(`${name}: loss ${lossBefore} did not fall, ${loss}`, loss < lossBefore);
  tf.dispose([batch.xs, batch.ys]);
}

for (const [name, workload] of Object.entries(job.workloads)) {
  const count = countParameters(createModel(tf, name, workload.sizes));
  check(
    `${name}: ${count} parameters, expected ${workload.parameterCount}`,
    count === workload.parameterCount,
  );
  const tiny = createModel(tf, name, workload.tinySizes);
  checkAgainstPeer(name, tiny, references[name]!, !workload.hasDropout);
  checkTraining(name, tiny);
}
console.log(`Models agree with PyTorch's on backend ${job.backend}: ${checks} checks`);
