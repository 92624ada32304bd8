// Trains by fit in stages, saves in the middle and goes on; or goes on from every save.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { meanSquares, skipping, WIDTH } from './models.js';

export const MODELS = ['skipping', 'normed'] as const;
export type Model = (typeof MODELS)[number];

export interface Trained {
  /** The whole weights: at the save, and after the last epoch. */
  readonly saved: Record<string, number[]>;
  readonly last: Record<string, number[]>;
  readonly history: Record<string, (number | tf.Tensor)[]>;
  readonly predicted: number[];
}

/** By the save. */
export type Results = Record<string, Trained>;

export interface Args {
  readonly phase: 'save' | 'load';
  readonly folder: string;
  /** The number of ranks with rows of their own. */
  readonly data: number;
}

const ROWS = 28;
const BATCH = 8;

/** With statistics that the forward pass changes, which depend on the micro-batches. */
function normed(): tf.LayersModel {
  const dense = (seed: number, more: object) =>
    tf.layers.dense({ units: WIDTH, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });
  // Its layers are those of the stages.
  const inner = tf.sequential({
    name: 'inner',
    layers: [
      // The gradient of a bias before the norm is 0 but for rounding, which Adam would make a step of.
      dense(1, { name: 'first', inputShape: [WIDTH], useBias: false }),
      tf.layers.batchNormalization({ name: 'norm' }),
      dense(2, { name: 'middle', activation: 'tanh' }),
    ],
  });
  return tf.sequential({ layers: [inner, dense(3, { name: 'last', units: 2 })] });
}

async function start(name: Model, world: number, data: number) {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    ...(world > 1 && { mesh: { pipeline: -1, data } }),
    pipeline: { microBatches: 2, schedule: name === 'normed' ? 'zeroBubble' : '1f1b' },
    gradientClipping: { norm: 1 },
  });
  const model = name === 'normed' ? normed() : skipping();
  model.compile({ optimizer: tf.train.adam(0.01), loss: 'meanSquaredError', metrics: ['mae'] });
  accelerator.prepare(model);
  const values = (width: number, rows: number, seed: number) =>
    tf.sin(tf.range(0, rows * width).add(seed)).reshape([rows, width]);
  const fit = async (from: number, to: number) => {
    const [xs, ys] = [values(WIDTH, ROWS, 0), values(2, ROWS, 100)];
    const validationData: [tf.Tensor, tf.Tensor] = [values(WIDTH, 6, 300), values(2, 6, 400)];
    const { history } = await model.fit(xs, ys, {
      ...{ batchSize: BATCH / data, initialEpoch: from, epochs: to, verbose: 0, validationData },
    });
    tf.dispose([xs, ys, validationData]);
    return history;
  };
  const weights = () => {
    const state = accelerator.getStateDict(model);
    const read = Object.entries(state).map(([key, x], i) => [
      `${i} ${key.replace(/^.*\//, '')}`,
      [...x.dataSync()],
    ]);
    tf.dispose(state);
    return Object.fromEntries(read) as Record<string, number[]>;
  };
  const predicted = () => tf.tidy(() => [...(model.predict(values(WIDTH, 4, 7)) as tf.Tensor).dataSync()]);
  const end = () => {
    accelerator.freeMemory();
    tf.disposeVariables();
  };
  return { accelerator, model, fit, weights, predicted, end };
}

async function save(name: Model, { folder, data }: Args, world: number): Promise<Trained> {
  const run = await start(name, world, data);
  await run.fit(0, 2);
  const saved = run.weights();
  await run.accelerator.saveState(join(folder, `${world}-${data}-${name}`));
  const history = await run.fit(2, 4);
  const result = { saved, history, last: run.weights(), predicted: run.predicted() };
  run.end();
  return result;
}

/** @param each The save, a folder of the one of `args`. */
async function load(each: string, { folder, data }: Args, world: number): Promise<Trained> {
  const name = modelOf(each);
  const run = await start(name, world, data);
  // One model is divided before it is loaded, the other one by fit.
  if (name === 'normed') run.accelerator.pipelined(run.model, meanSquares);
  await run.accelerator.loadState(join(folder, each));
  const saved = run.weights();
  const history = await run.fit(2, 4);
  const result = { saved, history, last: run.weights(), predicted: run.predicted() };
  run.end();
  return result;
}

const modelOf = (save: string) => MODELS.find((model) => save.endsWith(model))!;

export default async function saved(args: Args, { size }: RankPlace): Promise<Results> {
  const { phase, folder, data } = args;
  const isTrained = (name: Model) => name !== 'normed' || data === 1;
  const results: Results = {};
  if (phase === 'save') {
    for (const name of MODELS.filter(isTrained)) results[name] = await save(name, args, size);
  } else {
    for (const each of readdirSync(folder).sort())
      if (isTrained(modelOf(each))) results[each] = await load(each, args, size);
  }
  return results;
}
