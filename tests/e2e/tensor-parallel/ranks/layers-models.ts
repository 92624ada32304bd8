// Fits models of tfjs-layers whose weights the ranks of the axis tensor cut, and evaluates, predicts,
// saves and loads them.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, isAccError, parallelize, setSeed } from '@acc/core';
import { seededRandom } from '@acc/testkit';
import { disposeMasks } from '../dispose-masks.js';

export interface Args {
  /** For saved models. */
  readonly folder: string;
  readonly names: readonly string[];
}

const [ROWS, STEPS, WIDTH, UNITS, CLASSES, TOKENS] = [16, 3, 4, 12, 3, 6];

export interface Fitted {
  /** Of each epoch. */
  readonly losses: readonly number[];
  readonly validation: readonly number[];
  /** Loss and accuracy. */
  readonly evaluated: readonly number[];
  readonly predicted: readonly number[];
  readonly weights: readonly number[][];
  /** The same weights by other ways. */
  readonly read: readonly number[][];
  readonly saved: readonly number[][];
  /** Predictions of a new model that loads the saved weights after it was cut. */
  readonly loaded: readonly number[];
  /** Predictions of the model with its first weights, and after the last ones were set again. */
  readonly begun: readonly number[];
  readonly again: readonly number[];
  /** How often the ranks of the axis exchange values to predict one batch. */
  readonly calls: number;
}

export interface Report {
  readonly fitted: Record<string, Fitted>;
  /** The code for more units than the ranks can share, by a plan with names. */
  readonly uneven: string;
}

const random = { kernelInitializer: 'glorotUniform', recurrentInitializer: 'glorotUniform' } as const;
const units = { units: UNITS, ...random };
const inputShape = [STEPS, WIDTH];
const dropped = { dropout: 0.2, recurrentDropout: 0.3, inputShape };
const sequences = { returnSequences: true, inputShape } as const;

const MODELS: Record<string, () => tf.layers.Layer[]> = {
  dense: () => [
    tf.layers.flatten({ inputShape }),
    tf.layers.dense({ units: 24, activation: 'relu' }),
    tf.layers.dense({ units: UNITS }),
  ],
  lstm: () => [tf.layers.lstm({ ...units, ...sequences }), tf.layers.lstm(units)],
  gru: () => [tf.layers.gru({ ...units, inputShape, goBackwards: true })],
  simpleRNN: () => [tf.layers.simpleRNN({ ...units, inputShape })],
  'lstm with dropout': () => [tf.layers.lstm({ ...units, ...dropped })],
  'lstm with dropout of inputs': () => [tf.layers.lstm({ ...units, inputShape, dropout: 0.3 })],
  'gru with dropout': () => [tf.layers.gru({ ...units, ...dropped })],
  'conv1d and norms': () => [
    tf.layers.conv1d({ filters: 8, kernelSize: 2, padding: 'same', activation: 'relu', inputShape }),
    tf.layers.batchNormalization(),
    tf.layers.conv1d({ filters: UNITS, kernelSize: 2 }),
    tf.layers.globalAveragePooling1d({}),
    tf.layers.dense({ units: 24, activation: 'tanh' }),
    tf.layers.layerNormalization(),
    tf.layers.dense({ units: 24, activation: 'relu' }),
    tf.layers.dense({ units: UNITS }),
  ],
  'conv2d of tokens': () => [
    tf.layers.embedding({ inputDim: TOKENS, outputDim: WIDTH, inputLength: STEPS }),
    tf.layers.reshape({ targetShape: [STEPS, WIDTH, 1] }),
    tf.layers.conv2d({ filters: 6, kernelSize: 2, activation: 'relu' }),
    tf.layers.maxPooling2d({ poolSize: [1, 2] }),
    tf.layers.flatten(),
    tf.layers.dense({ units: 24, activation: 'relu' }),
    tf.layers.dense({ units: UNITS }),
  ],
  'sum of bidirectional gru': () => [
    tf.layers.bidirectional({
      layer: tf.layers.gru({ ...units, returnSequences: true }) as tf.RNN,
      mergeMode: 'sum',
      inputShape,
    }),
    tf.layers.bidirectional({ layer: tf.layers.simpleRNN(units) as tf.RNN, mergeMode: 'concat' }),
  ],
  'timeDistributed dense': () => [
    tf.layers.timeDistributed({ layer: tf.layers.dense({ units: UNITS, activation: 'relu' }), inputShape }),
    tf.layers.dense({ units: 24, activation: 'relu' }),
    tf.layers.dense({ units: UNITS }),
    tf.layers.globalMaxPooling1d({}),
  ],
  'stacked cells': () => [
    tf.layers.rnn({ cell: [tf.layers.lstmCell(units), tf.layers.gruCell(units)], inputShape }),
    tf.layers.dense({ units: 24, activation: 'relu' }),
    tf.layers.dense({ units: UNITS }),
  ],
  'conv of states': () => [
    tf.layers.reshape({ targetShape: [STEPS, 2, 2, 1], inputShape }),
    tf.layers.convLstm2d({ filters: 4, kernelSize: 2 }) as tf.layers.Layer,
    tf.layers.flatten(),
    tf.layers.dense({ units: 24, activation: 'relu' }),
    tf.layers.dense({ units: UNITS }),
  ],
  'bidirectional lstm of masked tokens': () => [
    tf.layers.embedding({ inputDim: TOKENS, outputDim: WIDTH, maskZero: true, inputLength: STEPS }),
    tf.layers.bidirectional({ layer: tf.layers.lstm(units) as tf.RNN, mergeMode: 'concat' }),
  ],
};

function made(name: string): tf.Sequential {
  const layers = [...MODELS[name]!(), tf.layers.dense({ units: CLASSES, activation: 'softmax' })];
  const model = tf.sequential({ layers });
  const next = seededRandom(5);
  const values = model.weights.map((weight) => {
    const { shape, size } = weight.read();
    const least = weight.name.includes('variance') ? 0.5 : -0.5;
    return tf.tensor(
      Array.from({ length: size }, () => next() + least),
      shape,
    );
  });
  model.setWeights(values);
  tf.dispose(values);
  return model;
}

function dataOf(name: string): { x: tf.Tensor; y: tf.Tensor } {
  return tf.tidy(() => {
    const wave = tf.sin(tf.mul(tf.range(0, ROWS * STEPS * WIDTH), 1.7));
    const tokens = Array.from({ length: ROWS * STEPS }, (_, i) => (i % STEPS > i % 7 ? 0 : 1 + (i % 5)));
    const classes = Array.from({ length: ROWS }, (_, i) => (i * i) % CLASSES);
    return {
      x: name.endsWith('tokens')
        ? tf.tensor2d(tokens, [ROWS, STEPS], 'int32')
        : tf.reshape(wave, [ROWS, STEPS, WIDTH]),
      y: tf.oneHot(tf.tensor1d(classes, 'int32'), CLASSES).toFloat(),
    };
  });
}

const listed = (tensors: readonly tf.Tensor[]) => tensors.map((each) => Array.from(each.dataSync()));
const predictionsOf = (model: tf.LayersModel, x: tf.Tensor) =>
  tf.tidy(() => Array.from((model.predict(x) as tf.Tensor).dataSync()));

/** The names of a model's weights in another one, by their names. */
function namesOf(model: tf.LayersModel, other: tf.LayersModel): Record<string, string> {
  const pairs = other.weights.map(({ originalName }, i) => [model.weights[i]!.originalName, originalName]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** @param folder For the saved model. */
async function fit(name: string, folder: string, size: number): Promise<Fitted> {
  const accelerator = await Accelerator.create({ ...(size > 1 && { mesh: { tensor: size } }), seed: 4 });
  const model = made(name);
  const first = model.getWeights().map((each) => each.clone());
  model.compile({ optimizer: tf.train.adam(0.01), loss: 'categoricalCrossentropy', metrics: ['accuracy'] });
  accelerator.prepare(parallelize(model, 'auto'));
  const { x, y } = dataOf(name);
  const rest = tf.tidy(() => ({ x: tf.slice(x, [12]), y: tf.slice(y, [12]) }));
  setSeed(9);
  const { history } = await model.fit(x, y, {
    batchSize: ROWS / 4,
    epochs: 5,
    shuffle: false,
    validationData: [rest.x, rest.y],
    verbose: 0,
  });
  const numbers = (key: string) => (history[key] as number[]).map(Number);
  const predictions = (of: tf.LayersModel) => predictionsOf(of, x);
  const evaluated = listed(model.evaluate(x, y) as tf.Scalar[]).flat();
  const predicted = predictions(model);
  const weights = listed(model.getWeights());
  const read = model.weights.map((weight) => Array.from(weight.read().dataSync()));
  const path = join(folder, String(size), name);
  await accelerator.saveModel(model, path);
  const dict = accelerator.getStateDict(model);
  const saved = listed(Object.values(dict));
  accelerator.communication();
  tf.dispose(model.predictOnBatch(x));
  const calls = accelerator.communication()['tensor']?.calls ?? 0;

  const other = made(name);
  accelerator.prepare(parallelize(other, 'auto'));
  await accelerator.loadModel(other, path, { names: namesOf(model, other) });
  const loaded = predictions(other);

  model.setWeights(first);
  const begun = predictions(model);
  const named = model.weights.map((weight, i) => [
    weight.originalName,
    tf.tensor(weights[i]!, weight.shape as number[]),
  ]);
  model.loadWeights(Object.fromEntries(named) as tf.NamedTensorMap);
  const again = predictions(model);
  accelerator.freeMemory();
  [model, other].forEach(disposeMasks);
  tf.disposeVariables();
  tf.dispose([dict, rest, first, named.map(([, tensor]) => tensor as tf.Tensor), x, y]);
  return {
    losses: numbers('loss'),
    validation: numbers('val_loss'),
    evaluated,
    predicted,
    weights,
    read,
    saved,
    loaded,
    begun,
    again,
    calls,
  };
}

async function unevenCode(size: number): Promise<string> {
  const accelerator = await Accelerator.create({ mesh: { tensor: size } });
  const lstm = tf.layers.lstm({ name: 'odd', units: 5, inputShape });
  try {
    accelerator.prepare(parallelize(tf.sequential({ layers: [lstm] }), { odd: 'column' }));
    return 'none';
  } catch (error) {
    if (!isAccError(error)) throw error;
    return error.code;
  } finally {
    accelerator.freeMemory();
    tf.disposeVariables();
  }
}

export default async function layersModels({ folder, names }: Args, { size }: RankPlace): Promise<Report> {
  const fitted: Record<string, Fitted> = {};
  for (const name of names) fitted[name] = await fit(name, folder, size);
  return { fitted, uneven: size > 1 ? await unevenCode(size) : '' };
}
