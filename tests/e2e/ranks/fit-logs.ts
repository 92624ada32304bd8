// Trains with fitDataset in several ways and reports the logs of callbacks and History, next to
// those of plain tfjs on the same global batches. Reports by tfjs backend (acc | cpu).
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { disposeModels } from '../dispose-optimizers.js';

const EPOCHS = 2;

interface Logs {
  history: Record<string, number[]>;
  begins: object[];
  ends: object[];
  epochs: object[];
}

interface Case {
  readonly rows: number;
  /** The number of rows in each element of the dataset. */
  readonly batchSize: number;
  readonly batchesPerEpoch?: number;
  readonly options?: AcceleratorOptions;
  /** tfjs-layers accepts records of functions, or objects of its own class. */
  readonly asClass?: boolean;
}

const split = { dataLoader: { splitBatches: true } };
const CASES: Record<string, Case> = {
  'a short last batch': { rows: 12, batchSize: 5 },
  'a last batch that is empty on some rank': { rows: 11, batchSize: 5, options: split, asClass: true },
  batchesPerEpoch: { rows: 30, batchSize: 4, batchesPerEpoch: 2 },
  accumulation: { rows: 25, batchSize: 6, options: { ...split, gradientAccumulationSteps: 2 } },
};

/** The mean over rows of the largest error in each row. */
const worst = (y: tf.Tensor, predicted: tf.Tensor) => tf.max(tf.abs(tf.sub(y, predicted)), -1);

function createModel(): tf.Sequential {
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 4 });
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 2, inputShape: [3], kernelInitializer, activation: 'tanh' })],
  });
  model.compile({ optimizer: tf.train.sgd(0.3), loss: 'meanSquaredError', metrics: ['mae', worst] });
  return model;
}

function createData(rows: number, batchSize: number, repeats: number) {
  const xs = tf.sin(tf.range(0, rows * 3)).reshape([rows, 3]);
  const ys = tf.cos(tf.range(0, rows * 2).mul(0.7)).reshape([rows, 2]);
  const columns = { xs: tf.data.array(tf.unstack(xs)), ys: tf.data.array(tf.unstack(ys)) };
  return tf.data.zip(columns).repeat(repeats).batch(batchSize);
}

class Recorder extends tf.CustomCallback {}

async function train(model: tf.Sequential, one: Case, batchSize: number): Promise<Logs> {
  const told: Omit<Logs, 'history'> = { begins: [], ends: [], epochs: [] };
  const functions = {
    onBatchBegin: (_: number, logs?: tf.Logs) => void told.begins.push({ ...logs }),
    onBatchEnd: (_: number, logs?: tf.Logs) => void told.ends.push({ ...logs }),
    onEpochEnd: (_: number, logs?: tf.Logs) => void told.epochs.push({ ...logs }),
  };
  const data = createData(one.rows, batchSize, one.batchesPerEpoch ? EPOCHS : 1);
  const { history } = await model.fitDataset(data, {
    epochs: EPOCHS,
    ...(one.batchesPerEpoch && { batchesPerEpoch: one.batchesPerEpoch }),
    callbacks: one.asClass ? [new Recorder(functions)] : functions,
    verbose: 0,
  });
  return { history: history as Record<string, number[]>, ...told };
}

async function trainPlainly(ranks: number): Promise<Record<string, Logs>> {
  const plain: Record<string, Logs> = {};
  for (const [name, one] of Object.entries(CASES)) {
    const batchSize = one.batchSize * (one.options ? 1 : ranks);
    if (name === 'accumulation') continue;
    const model = createModel();
    plain[name] = await train(model, one, batchSize);
    disposeModels(model);
  }
  return plain;
}

export default async function fitLogs(
  backends: readonly string[],
  { size }: RankPlace,
): Promise<Record<string, object>> {
  await tf.setBackend('cpu');
  const plain = await trainPlainly(size);
  const told: Record<string, object> = {};
  for (const backend of backends) {
    await tf.setBackend('cpu');
    const logs: Record<string, Logs> = {};
    for (const [name, one] of Object.entries(CASES)) {
      const engine = backend === 'cpu' ? 'tfjs' : 'acc';
      const accelerator = await Accelerator.create({ ...one.options, engine });
      const model = accelerator.prepare(createModel());
      logs[name] = await train(model, one, one.batchSize);
      accelerator.freeMemory();
      disposeModels(model);
      told[backend] = { backend: accelerator.backendName, plain, logs };
    }
  }
  await tf.setBackend('acc');
  return told;
}
