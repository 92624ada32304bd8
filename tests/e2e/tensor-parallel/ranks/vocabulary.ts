// Losses of logits that the ranks of the axis tensor cut by tokens.
// Returns of each: losses, weights and the gradient of what the logits are made of, and what a step sends
// and needs.
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, cut, parallelize, type AcceleratorOptions } from '@acc/core';
import { liveTensors } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const [ROWS, LENGTH, WIDTH, VOCABULARY] = [8, 64, 6, 1536];
const TOKENS = ROWS * LENGTH;

export interface Measured {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  /** Of the last step. */
  readonly bytes: number;
  readonly peakBytes: number;
  /** How many different numbers of tensors were left after a step. */
  readonly left: number;
}

export interface Report {
  readonly measured: Record<string, Measured>;
  /** Losses of steps, as they are and compiled. */
  readonly compiled: { readonly plain: readonly number[]; readonly compiled: readonly number[] }[];
}

const wave = (shape: number[], step: number) =>
  tf.tidy(() => tf.reshape(tf.sin(tf.mul(tf.range(1, 1 + tf.util.sizeFromShape(shape)), step)), shape));
const tokens = Int32Array.from({ length: TOKENS }, (_, i) =>
  Math.floor(VOCABULARY * Math.abs(Math.sin(i * 1.7 + 0.3))),
);
const read = (variables: readonly tf.Tensor[]) => variables.map((each) => Array.from(each.dataSync()));

type Loss = (labels: tf.Tensor1D, logits: tf.Tensor2D) => tf.Tensor;
const hot = (labels: tf.Tensor1D) => tf.oneHot(labels, VOCABULARY);
const weights = () => wave([TOKENS], 0.4);
const { SUM, MEAN } = tf.Reduction;

const LOSSES: Record<string, Loss> = {
  'one-hot': (labels, logits) => tf.losses.softmaxCrossEntropy(hot(labels), logits),
  'in sequences': (labels, logits) =>
    tf.losses.softmaxCrossEntropy(
      tf.oneHot(tf.reshape(labels, [ROWS, LENGTH]), VOCABULARY),
      tf.reshape(logits, [ROWS, LENGTH, -1]),
    ),
  smoothed: (labels, logits) => tf.losses.softmaxCrossEntropy(hot(labels), logits, undefined, 0.1),
  weighted: (labels, logits) =>
    tf.losses.softmaxCrossEntropy(hot(labels), logits, tf.abs(weights()), 0, MEAN),
  'smoothed and weighted': (labels, logits) =>
    tf.losses.softmaxCrossEntropy(hot(labels), logits, tf.abs(weights()), 0.1, SUM),
  'of log probabilities': (labels, logits) =>
    tf.neg(tf.mean(tf.sum(tf.mul(hot(labels), tf.log(tf.softmax(logits))), -1))),
  // Weights that are no tensor are left to tfjs's own loss.
  'of tfjs': (labels, logits) => tf.losses.softmaxCrossEntropy(hot(labels), logits, 1),
  'read besides': (labels, logits) => {
    const vectors = hot(labels);
    const count = tf.sum(tf.sum(vectors, 0)).dataSync()[0]!;
    return tf.mul(tf.losses.softmaxCrossEntropy(vectors, logits), count / TOKENS);
  },
};

async function measured(loss: Loss, isTrained: boolean, options: AcceleratorOptions): Promise<Measured> {
  const accelerator = await Accelerator.create(options);
  const [first, second] = [wave([TOKENS, WIDTH], 1.1), wave([WIDTH, VOCABULARY], 0.7)];
  const [hidden, kernel] = [tf.variable(first, isTrained), tf.variable(second)];
  tf.dispose([first, second]);
  const variables = isTrained ? [hidden, kernel] : [kernel];
  accelerator.prepare([cut(kernel, { dim: 1, axis: 'tensor' }), ...(isTrained ? [hidden] : [])]);
  const optimizer = accelerator.prepare(tf.train.sgd(0.5));
  const labels = tf.tensor1d(tokens, 'int32');
  const step = () =>
    optimizer.minimize(
      () => loss(labels, tf.matMul(hidden, kernel as tf.Tensor2D)) as tf.Scalar,
      true,
      variables,
    )!;
  const found = repeated(accelerator, step);
  const result = { ...found, weights: read([kernel, hidden]) };
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.dispose([labels, hidden, kernel]);
  return result;
}

/** Takes steps, and measures the last one. */
function repeated(accelerator: Accelerator, step: () => tf.Tensor | number) {
  const losses: number[] = [];
  const left = new Set<string>();
  let bytes = 0;
  let peakBytes = 0;
  for (let i = 0; i < 4; i++) {
    accelerator.communication();
    accelerator.resetPeakMemory();
    const loss = step();
    peakBytes = (tf.memory() as unknown as { peakAllocatedBytes: number }).peakAllocatedBytes;
    bytes = accelerator.communication()['tensor']?.bytes ?? 0;
    losses.push(typeof loss === 'number' ? loss : loss.dataSync()[0]!);
    tf.dispose([loss as tf.Tensor]);
    if (i > 1) left.add([tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()].join());
  }
  return { losses, bytes, peakBytes, left: left.size };
}

/** A model of tfjs-layers. */
async function fitted(options: AcceleratorOptions): Promise<Measured> {
  const accelerator = await Accelerator.create(options);
  const dense = { name: 'out', units: VOCABULARY, activation: 'softmax' } as const;
  const model = tf.sequential({
    layers: [tf.layers.dense({ ...dense, inputShape: [LENGTH, WIDTH] })],
  });
  tf.tidy(() => model.setWeights([wave([WIDTH, VOCABULARY], 0.7), wave([VOCABULARY], 0.2)]));
  model.compile({ optimizer: tf.train.sgd(0.5), loss: 'sparseCategoricalCrossentropy' });
  accelerator.prepare(parallelize(model, { out: 'vocab' }));
  const x = wave([ROWS, LENGTH, WIDTH], 1.1);
  const y = tf.reshape(tf.tensor1d(tokens, 'float32'), [ROWS, LENGTH, 1]);
  const losses: number[] = [];
  let bytes = 0;
  let peakBytes = 0;
  for (let i = 0; i < 4; i++) {
    accelerator.communication();
    accelerator.resetPeakMemory();
    losses.push((await model.trainOnBatch(x, y)) as number);
    peakBytes = (tf.memory() as unknown as { peakAllocatedBytes: number }).peakAllocatedBytes;
    bytes = accelerator.communication()['tensor']?.bytes ?? 0;
  }
  const result = { losses, bytes, peakBytes, left: 1, weights: read(model.getWeights()) };
  accelerator.freeMemory();
  disposeOptimizers(model.optimizer);
  tf.dispose([x, y]);
  tf.disposeVariables();
  return result;
}

/** Losses of steps on other labels each, that are given as vectors, or as tokens of which the step makes them. */
async function compiledLosses(
  { isCompiled, areVectors }: Readonly<Record<'isCompiled' | 'areVectors', boolean>>,
  options: AcceleratorOptions,
): Promise<number[]> {
  const accelerator = await Accelerator.create(options);
  const [hidden, other] = [wave([TOKENS, WIDTH], 1.1), hot(tf.tensor1d(tokens, 'int32'))];
  const initial = wave([WIDTH, VOCABULARY], 0.7);
  const kernel = tf.variable(initial);
  accelerator.prepare([cut(kernel, { dim: 1, axis: 'tensor' })]);
  const optimizer = accelerator.prepare(tf.train.sgd(0.5));
  const plain = (given: tf.Tensor) =>
    optimizer.minimize(() => {
      const logits = tf.matMul(hidden, kernel as tf.Tensor2D);
      const labels = areVectors ? given : hot(given as tf.Tensor1D);
      const { softmaxCrossEntropy } = tf.losses;
      return tf.add(softmaxCrossEntropy(labels, logits), softmaxCrossEntropy(other, logits)) as tf.Scalar;
    }, true)!;
  const compiled = isCompiled ? accelerator.compile(plain) : undefined;
  const step = compiled ?? plain;
  const losses = Array.from({ length: 6 }, (_, i) =>
    tf.tidy(() => {
      const labels = tf.tensor1d(
        tokens.map((token) => (token * (i + 1)) % VOCABULARY),
        'int32',
      );
      return step(areVectors ? hot(labels) : labels).dataSync()[0]!;
    }),
  );
  if (compiled && compiled.replays < 3)
    throw new Error(`replayed ${compiled.replays} times: ${compiled.reason}`);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.dispose([hidden, other, initial, kernel]);
  return losses;
}

export default async function vocabulary(_: unknown, { size }: RankPlace): Promise<Report> {
  const options: AcceleratorOptions = size > 1 ? { mesh: { tensor: size } } : {};
  const report: Report = { measured: { sparse: await fitted(options) }, compiled: [] };
  for (const areVectors of [true, false]) {
    const plain = await compiledLosses({ isCompiled: false, areVectors }, options);
    const compiled = await compiledLosses({ isCompiled: true, areVectors }, options);
    report.compiled.push({ plain, compiled });
  }
  for (const [name, loss] of Object.entries(LOSSES)) {
    report.measured[name] = await measured(loss, false, options);
    report.measured[`${name}, with the gradient of its input`] = await measured(loss, true, options);
  }
  return report;
}
