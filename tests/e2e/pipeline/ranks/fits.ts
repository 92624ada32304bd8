// Trains by fit and fitDataset in the ways that their options allow.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, parallelize, type MeshOptions } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface Fitted {
  readonly history: Record<string, (number | tf.Tensor)[]>;
  /** The records of the callbacks: the loss of each batch, and the logs of each epoch by name. */
  readonly batches: number[];
  readonly epochs: Record<string, number[]>;
  readonly weights: Record<string, number[]>;
}

export type Fits = Record<string, Fitted>;

export interface Args {
  readonly mesh: MeshOptions;
  /** The number of ranks with rows of their own. */
  readonly data: number;
}

const ROWS = 24;
const BATCH = 8;
const WIDTH = 8;

const values = (rows: number, width: number, seed: number) =>
  tf.sin(tf.range(0, rows * width).add(seed)).reshape([rows, width]);
const classes = (rows: number) =>
  tf.oneHot(
    tf.tensor1d(
      Array.from({ length: rows }, (_, i) => i % 3),
      'int32',
    ),
    3,
  );
const dense = (units: number, seed: number, more: object = {}) =>
  tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });

/** Two outputs, of the last layers of one model. */
function forked(): tf.LayersModel {
  const input = tf.input({ shape: [WIDTH] });
  const first = dense(16, 1, { activation: 'relu' }).apply(input);
  const second = dense(WIDTH, 2, { activation: 'tanh' }).apply(first);
  const outputs = [
    dense(2, 3, { name: 'numbers' }).apply(second),
    dense(3, 4, { name: 'kinds', activation: 'softmax' }).apply(second),
  ] as tf.SymbolicTensor[];
  const model = tf.model({ inputs: input, outputs });
  const loss = ['meanSquaredError', 'categoricalCrossentropy'];
  model.compile({ optimizer: tf.train.adam(0.01), loss, metrics: ['mae'] });
  return model;
}

function chain(): tf.LayersModel {
  const model = tf.sequential({
    layers: [
      dense(16, 5, { inputShape: [WIDTH], activation: 'relu' }),
      dense(WIDTH, 6, { activation: 'tanh' }),
      dense(3, 7, { activation: 'softmax' }),
    ],
  });
  model.compile({
    optimizer: tf.train.momentum(0.05, 0.9),
    loss: 'categoricalCrossentropy',
    metrics: ['accuracy'],
  });
  return model;
}

type Callbacks = tf.CustomCallbackArgs;
type Fit = (
  model: tf.LayersModel,
  options: { readonly batchSize: number; readonly callbacks: Callbacks },
) => Promise<tf.History>;

const common = { epochs: 3, verbose: 0 } as const;
const ways: Record<string, { readonly model: () => tf.LayersModel; readonly fit: Fit }> = {
  'several outputs': {
    model: forked,
    fit: (model, options) => {
      const ys = [values(ROWS, 2, 9), classes(ROWS)];
      const more = { ...options, validationSplit: 1 / 3, shuffle: false };
      return model.fit(values(ROWS, WIDTH, 0), ys, { ...common, ...more });
    },
  },
  'weights of classes': {
    model: chain,
    fit: (model, options) => {
      const more = { ...options, classWeight: { 0: 1, 1: 2, 2: 0.5 }, shuffle: false };
      return model.fit(values(ROWS, WIDTH, 0), classes(ROWS), { ...common, ...more });
    },
  },
  'a short last batch': {
    model: chain,
    fit: (model, options) => {
      const rows = 13;
      const more = { ...options, shuffle: false };
      return model.fit(values(rows, WIDTH, 0), classes(rows), { ...common, ...more });
    },
  },
  fitDataset: {
    model: chain,
    fit: (model, { batchSize, callbacks }) => {
      const rows = (count: number, seed: number) =>
        tf.data.zip({
          xs: tf.data.array(rowsOf(values(count, WIDTH, seed))),
          ys: tf.data.array(rowsOf(classes(count))),
        });
      const validationData = rows(6, 50).batch(6);
      return model.fitDataset(rows(ROWS, 0).batch(batchSize), { ...common, validationData, callbacks });
    },
  },
};

function rowsOf(x: tf.Tensor): number[][] {
  const rows = x.arraySync() as number[][];
  x.dispose();
  return rows;
}

async function run(name: string, { mesh, data }: Args): Promise<Fitted> {
  const { model: create, fit } = ways[name]!;
  const several = Object.keys(mesh).length > 0;
  const accelerator = await Accelerator.create({
    engine: 'acc',
    ...(several && { mesh }),
    ...(mesh.fsdp && { strategy: 'fsdp' as const }),
    pipeline: { microBatches: 2 },
  });
  const model = create();
  if (mesh.tensor) parallelize(model, 'auto');
  accelerator.prepare(model);
  const batches: number[] = [];
  const epochs: Record<string, number[]> = {};
  const callbacks: Callbacks = {
    onBatchEnd: (_, logs) => void batches.push(logs!['loss']!),
    onEpochEnd(_, logs) {
      for (const [key, value] of Object.entries(logs!)) (epochs[key] ??= []).push(value);
    },
  };
  const { history } = await fit(model, { batchSize: BATCH / data, callbacks });
  const state = accelerator.getStateDict(model);
  const weights = Object.fromEntries(
    Object.values(state).map((x, i) => [`${i} ${x.shape.join('x')}`, [...x.dataSync()]]),
  );
  tf.dispose(state);
  accelerator.freeMemory();
  disposeOptimizers(model.optimizer);
  tf.disposeVariables();
  return { history, batches, epochs, weights };
}

export default async function fits(args: Args): Promise<Fits> {
  const fitted: Fits = {};
  for (const name of Object.keys(ways)) fitted[name] = await run(name, args);
  return fitted;
}
