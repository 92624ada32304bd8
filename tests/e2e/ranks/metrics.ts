// Trains and evaluates with metrics of several kinds. Returns the warnings of each.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeModels } from '../dispose-optimizers.js';

export interface Warned {
  readonly inFit: readonly string[];
  readonly inEvaluation: readonly string[];
  /** The tensors that an evaluation leaves besides its results. */
  readonly left: number;
}

function f1(labels: tf.Tensor, predictions: tf.Tensor): tf.Tensor {
  const found = tf.round(predictions);
  const hits = tf.sum(tf.mul(labels, found));
  return tf.div(tf.mul(hits, 2), tf.add(tf.sum(labels), tf.sum(found)));
}

/** A mean over rows, as one number. */
const agreement = (labels: tf.Tensor, predictions: tf.Tensor) =>
  tf.mean(tf.cast(tf.equal(labels, tf.round(predictions)), 'float32'));

function createModel(): tf.Sequential {
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 4 });
  const dense = tf.layers.dense({ units: 2, inputShape: [3], kernelInitializer, activation: 'softmax' });
  const model = tf.sequential({ layers: [dense] });
  const metrics = ['accuracy', 'mse', tf.metrics.precision, agreement, f1];
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'categoricalCrossentropy', metrics });
  return model;
}

async function warningsOf(fn: () => Promise<void>): Promise<string[]> {
  const own = console.warn;
  const warnings: string[] = [];
  console.warn = (text: string) => void warnings.push(text);
  try {
    await fn();
  } finally {
    console.warn = own;
  }
  return warnings;
}

export default async function metrics(): Promise<Warned> {
  const accelerator = await Accelerator.create({});
  const xs = tf.sin(tf.range(0, 36)).reshape([12, 3]);
  const ys = tf.oneHot(tf.tensor1d([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1], 'int32'), 2, 1, 0, 'float32');
  const rows = () => tf.data.zip({ xs: tf.data.array(tf.unstack(xs)), ys: tf.data.array(tf.unstack(ys)) });
  const [fitted, evaluated] = [createModel(), createModel()];
  accelerator.prepare(fitted);
  accelerator.prepare(evaluated);
  const inFit = await warningsOf(async () => {
    await fitted.fit(xs, ys, { epochs: 2, batchSize: 3, verbose: 0 });
  });
  const batches = accelerator.prepare(rows().batch(3));
  const evaluate = async () => {
    const results = [await evaluated.evaluateDataset(batches as never, {})].flat();
    tf.dispose(results);
  };
  let left = 0;
  const inEvaluation = await warningsOf(async () => {
    await evaluate();
    const before = tf.memory().numTensors;
    await evaluate();
    left = tf.memory().numTensors - before;
  });
  accelerator.freeMemory();
  disposeModels(fitted, evaluated);
  return { inFit, inEvaluation, left };
}
