// Gathers predictions for 11 rows on meshes of this job's ranks, in batches of 4 rows a step. Returns the
// rows of each mesh, and what dropout keeps without a seed.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, parallelize, type AcceleratorOptions } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';

export interface Found {
  readonly coordinates: Readonly<Record<string, number>>;
  /** By step. */
  readonly rows: readonly number[][];
  /** Ten times the row, as the model predicts it. */
  readonly predicted: readonly number[];
  /** Items that are no tensors, such as names of files. */
  readonly names: readonly string[];
  /** By `tf.dropout` and by a layer. */
  readonly kept: { readonly op: string; readonly layer: string };
}

const ROWS = 11;

/** Multiplies by 10, in two products that ranks of the axis `tensor` share. */
function timesTen(isCut: boolean): tf.LayersModel {
  const constant = (value: number) => ({
    useBias: false,
    kernelInitializer: tf.initializers.constant({ value }),
  });
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ name: 'in', units: 4, inputShape: [1], ...constant(0.5) }),
      tf.layers.dense({ name: 'out', units: 1, ...constant(5) }),
    ],
  });
  return isCut ? parallelize(model, { in: 'column', out: 'row' }) : model;
}

async function find(options: AcceleratorOptions): Promise<Found> {
  const dataLoader = { shuffle: false, splitBatches: true };
  const accelerator = await Accelerator.create({ engine: 'acc', dataLoader, ...options });
  const { mesh } = accelerator;
  const ones = tf.ones([64]);
  const drop = tf.layers.dropout({ rate: 0.5 });
  const bitsOf = (x: tf.Tensor) => Array.from(x.dataSync(), (value) => Number(value > 0)).join('');
  const kept = tf.tidy(() => ({
    op: bitsOf(tf.dropout(ones, 0.5)),
    layer: bitsOf(drop.apply(ones, { training: true }) as tf.Tensor),
  }));
  const model = timesTen(mesh.size('tensor') > 1);
  const x = tf.range(0, ROWS).reshape([ROWS, 1]);
  const loader = new DataLoader(x, { batchSize: 4 });
  const [, optimizer, data] = accelerator.prepare(model, tf.train.sgd(0.1), loader);
  if (mesh.size('pipeline') > 1) {
    const loss = (y: tf.Tensor, prediction: tf.Tensor) => tf.losses.meanSquaredError(y, prediction);
    accelerator.pipelined(model, loss as never, { microBatches: 1, stages: [['in'], ['out']] });
  }
  const found = { rows: [] as number[][], predicted: [] as number[], names: [] as string[] };
  for await (const batch of data as AsyncIterable<tf.Tensor>) {
    const own = Array.from(batch.dataSync());
    found.rows.push(valuesOf(accelerator.gatherForMetrics(batch)));
    found.predicted.push(...valuesOf(accelerator.gatherForMetrics(model.predict(batch) as tf.Tensor)));
    found.names.push(...accelerator.gatherForMetrics(own.map((row) => `row ${row}`)));
  }
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return { coordinates: mesh.coordinates, ...found, kept };
}

const valuesOf = (x: tf.Tensor): number[] => Array.from(x.dataSync());

export default async function metrics(meshes: readonly Readonly<Record<string, number>>[]): Promise<Found[]> {
  const results: Found[] = [];
  for (const mesh of meshes) results.push(await find({ mesh, ...('fsdp' in mesh && { strategy: 'fsdp' }) }));
  return results;
}
