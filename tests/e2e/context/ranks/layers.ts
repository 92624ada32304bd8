// Trains small models on pieces of sequences, and prepares models that cannot compute with pieces. The
// argument is the mesh. Returns what each model came to, or why it was refused.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { isAccError } from '@acc/contract';
import { seededRandom } from '@acc/testkit';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface Trained {
  readonly losses: number[];
  readonly weights: number[][];
}

export interface Refused {
  readonly code: string;
  readonly layer: unknown;
  readonly className: unknown;
}

export interface Results {
  readonly trained: Readonly<Record<string, Trained>>;
  readonly refused: Readonly<Record<string, Refused | 'prepared'>>;
}

const [ROWS, LENGTH, WIDTH] = [8, 8, 6];
const { layers } = tf;
const dense = (units: number) => layers.dense({ units, activation: 'tanh' });
const lstm = () => layers.lstm({ units: 4, recurrentInitializer: 'zeros', name: 'reader' });

/** The layers between two dense ones, which compute `[rows, length, 4]` from `[rows, length, 6]`. */
const LAYERS: Readonly<Record<string, () => object[]>> = {
  dense: () => [],
  softmax: () => [layers.softmax({ axis: -1 })],
  layerNormalization: () => [layers.layerNormalization()],
  batchNormalization: () => [layers.batchNormalization({ momentum: 0.8 })],
  prelu: () => [layers.prelu({ sharedAxes: [1], alphaInitializer: 'ones' })],
  conv1d: () => [layers.conv1d({ filters: 4, kernelSize: 1 })],
  'timeDistributed dense': () => [layers.timeDistributed({ layer: dense(5) })],
  nested: () => [tf.sequential({ layers: [layers.dense({ units: 3, inputShape: [null, 8] })] })],
  'other dims': () => [
    layers.reshape({ targetShape: [null as never, 4, 2] }),
    layers.conv2d({ filters: 3, kernelSize: [1, 3], padding: 'same' }),
    layers.maxPooling2d({ poolSize: [1, 2] }),
    layers.permute({ dims: [1, 3, 2] }),
    layers.depthwiseConv2d({ kernelSize: [1, 2], padding: 'same' }),
    layers.zeroPadding2d({ padding: [[0, 0], [1, 0]] }), // prettier-ignore
    layers.timeDistributed({ layer: lstm() }),
  ],
};

const REFUSED: Readonly<Record<string, () => object[]>> = {
  lstm: () => [lstm()],
  'in a bidirectional': () => [
    layers.bidirectional({ layer: lstm() as never, mergeMode: 'sum', name: 'reader' }),
  ],
  conv1d: () => [layers.conv1d({ filters: 4, kernelSize: 3, padding: 'same', name: 'reader' })],
  'in a model': () => [
    tf.sequential({ layers: [layers.maxPooling1d({ poolSize: 2, inputShape: [null, 8], name: 'reader' })] }),
  ],
};

const chain = (between: object[], named = {}) =>
  tf.sequential({
    layers: [
      layers.dense({ units: 8, inputShape: [null, WIDTH], activation: 'tanh', ...named }),
      ...(between as ReturnType<typeof dense>[]),
      layers.dense({ units: 4 }),
    ],
  });

const wave = (shape: number[], offset: number) =>
  tf.tidy(() =>
    tf.reshape(tf.sin(tf.add(tf.mul(tf.range(0, tf.util.sizeFromShape(shape)), 1.37), offset)), shape),
  );

/** Gives all ranks the same weights, of which none is 0. */
function fill(model: tf.LayersModel): void {
  const random = seededRandom(7);
  for (const weight of model.getWeights(true)) {
    const values = Array.from({ length: weight.size }, () => 0.8 * random() + 0.1);
    tf.tidy(() => (weight as tf.Variable).assign(tf.tensor(values, weight.shape)));
  }
}

type Mesh = NonNullable<AcceleratorOptions['mesh']>;

const start = (mesh: Mesh) =>
  Accelerator.create({
    dataLoader: { splitBatches: true },
    mesh,
    ddp: { syncBatchNorm: true },
  });

const valuesOf = (accelerator: Accelerator, model: tf.LayersModel) =>
  Object.values(accelerator.getStateDict(model)).map((value) => Array.from(value.dataSync()));

async function fit(mesh: Mesh, between: object[]): Promise<Trained> {
  const accelerator = await start(mesh);
  const model = chain(between);
  fill(model);
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const [x, y] = [wave([2 * ROWS, LENGTH, WIDTH], 1), wave([2 * ROWS, LENGTH, 4], 5)];
  const { history } = await model.fit(x, y, { batchSize: ROWS, epochs: 2, verbose: 0, shuffle: false });
  const trained = { losses: history['loss'] as number[], weights: valuesOf(accelerator, model) };
  accelerator.freeMemory(model);
  disposeOptimizers(model.optimizer);
  return trained;
}

/** A model of sequences and of features, which a loop that feeds itself gives to it whole. */
async function besideFeatures(mesh: Mesh): Promise<Trained> {
  const accelerator = await start(mesh);
  const [sequence, features] = [tf.input({ shape: [null, WIDTH] as number[] }), tf.input({ shape: [3] })];
  const described = dense(8).apply(features) as tf.SymbolicTensor;
  const mixed = layers.reshape({ targetShape: [2, 4] }).apply(described) as tf.SymbolicTensor;
  const read = layers.dense({ units: 4 }).apply(lstm().apply(mixed)) as tf.SymbolicTensor;
  const sum = layers.add().apply([dense(4).apply(sequence) as tf.SymbolicTensor, read]) as tf.SymbolicTensor;
  const model = tf.model({
    inputs: [sequence, features],
    outputs: layers.dense({ units: 4 }).apply(sum) as tf.SymbolicTensor,
  });
  fill(model);
  const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
  const [count, place] = [accelerator.mesh.size('context'), accelerator.mesh.coordinates.context ?? 0];
  const losses = Array.from({ length: 4 }, (_, step) =>
    tf.tidy(() => {
      const [x, y] = [wave([ROWS, LENGTH, WIDTH], step), wave([ROWS, LENGTH, 4], 5)].map(
        (whole) => tf.split(whole, count, 1)[place]!,
      );
      const lossOf = () =>
        tf.losses.meanSquaredError(y!, model.apply([x!, wave([ROWS, 3], step)]) as tf.Tensor) as tf.Scalar;
      return accelerator.reduce(optimizer.minimize(lossOf, true)!, 'mean').dataSync()[0]!;
    }),
  );
  const trained = { losses, weights: valuesOf(accelerator, model) };
  accelerator.freeMemory(model);
  disposeOptimizers(optimizer);
  return trained;
}

/** @param use Of a model. */
async function refusalOf(use: () => unknown): Promise<Refused | 'prepared'> {
  try {
    await use();
    return 'prepared';
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code, layer: error.details['layer'], className: error.details['className'] };
  }
}

/** A model whose features are prepared data, which are cut as sequences are. */
async function fitFeatures(accelerator: Accelerator): Promise<void> {
  const model = tf.sequential({
    layers: [layers.dense({ units: LENGTH, inputShape: [LENGTH], name: 'reader' })],
  });
  const optimizer = tf.train.sgd(0.01);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  try {
    accelerator.prepare(model);
    await model.fit(wave([ROWS, LENGTH], 1), wave([ROWS, LENGTH], 2), { batchSize: ROWS, verbose: 0 });
  } finally {
    disposeOptimizers(optimizer);
  }
}

export default async function layersOn(mesh: Mesh): Promise<Results> {
  const trained: Record<string, Trained> = {};
  const refused: Record<string, Refused | 'prepared'> = {};
  for (const [name, between] of Object.entries(LAYERS)) trained[name] = await fit(mesh, between());
  trained['beside features'] = await besideFeatures(mesh);
  const accelerator = await start(mesh);
  for (const [name, between] of Object.entries(REFUSED))
    refused[name] = await refusalOf(() => accelerator.prepare(chain(between())));
  refused['features'] = await refusalOf(() => fitFeatures(accelerator));
  accelerator.freeMemory();
  tf.disposeVariables();
  return { trained, refused };
}
