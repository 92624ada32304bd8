// Reads shuffled data: tf.data without a seed, made before and after the Accelerator, and indices of
// tf.util.shuffle. Reports what this rank has read.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, setSeed } from '@acc/core';
import { disposeModels } from '../dispose-optimizers.js';

const ROWS = 24;
const BATCH = 3;

export interface ReadByRank {
  /** The rows of each epoch, in the order of reading. */
  readonly early: number[][];
  readonly late: number[][];
  readonly repeated: number[];
  readonly seeded: number[];
  readonly fitted: number[][];
  readonly indices: number[];
  readonly again: number[];
}

export interface Resumed {
  readonly parts: number[];
  readonly whole: number[];
  readonly indices: number[][];
}

const rows = () => tf.data.array(Array.from({ length: ROWS }, (_, row) => row));

export default async function shuffles({ seed, dir }: { seed?: number; dir?: string }) {
  return dir === undefined ? orders(seed) : resumed(dir);
}

async function orders(seed: number | undefined): Promise<ReadByRank> {
  const before = rows().shuffle(ROWS).batch(BATCH);
  const accelerator = await Accelerator.create();
  if (seed !== undefined) setSeed(seed);
  // A dataset that one rank alone reads changes no order.
  if (accelerator.isMainProcess) await rows().shuffle(ROWS).take(1).toArray();
  const read = async (data: AsyncIterable<tf.Tensor>) => {
    const seen: number[] = [];
    for await (const batch of data) {
      seen.push(...batch.dataSync());
      batch.dispose();
    }
    return seen;
  };
  const prepare = (dataset: tf.data.Dataset<tf.TensorContainer>) =>
    accelerator.prepare(dataset) as unknown as AsyncIterable<tf.Tensor>;
  const early = prepare(before);
  const late = prepare(rows().shuffle(ROWS).batch(BATCH));
  const repeated = prepare(rows().shuffle(ROWS).repeat(2).batch(BATCH));
  const seeded = prepare(rows().shuffle(ROWS, '5').batch(BATCH));
  const indices = Array.from({ length: ROWS }, (_, i) => i);
  tf.util.shuffle(indices);
  const found = {
    early: [await read(early), await read(early)],
    late: [await read(late)],
    repeated: await read(repeated),
    seeded: await read(seeded),
    indices,
    again: [...tf.util.createShuffledIndices(ROWS)],
    fitted: await fitted(accelerator),
  };
  accelerator.freeMemory();
  return found;
}

/**
 * Reads one epoch and a part of the next, saves, and reads on with a new Accelerator.
 *
 * @returns The rows before the save, after it, and of an epoch that nothing interrupts.
 */
async function resumed(dir: string): Promise<Resumed> {
  const begin = async () => {
    const accelerator = await Accelerator.create({ checkpoint: { dir } });
    const data = accelerator.prepare(
      rows().shuffle(ROWS).batch(BATCH),
    ) as unknown as AsyncIterable<tf.Tensor>;
    return { accelerator, data };
  };
  const read = async (data: AsyncIterable<tf.Tensor>, afterTwo?: () => Promise<unknown>) => {
    const seen: number[] = [];
    for await (const batch of data) {
      seen.push(...batch.dataSync());
      batch.dispose();
      if (!afterTwo || seen.length < 2 * BATCH) continue;
      await afterTwo();
      break;
    }
    return seen;
  };
  const indices = () => [...tf.util.createShuffledIndices(ROWS)];
  const first = await begin();
  await read(first.data);
  indices();
  const before = await read(first.data, () => first.accelerator.saveState());
  const uninterrupted = indices();
  first.accelerator.freeMemory();
  const second = await begin();
  await second.accelerator.loadState();
  const after = await read(second.data);
  const other = indices();
  second.accelerator.freeMemory();
  const third = await begin();
  await read(third.data);
  const whole = await read(third.data);
  third.accelerator.freeMemory();
  return { parts: [...before, ...after], whole, indices: [uninterrupted, other] };
}

/** The rows that the batches of fitDataset have, by epoch. */
async function fitted(accelerator: Accelerator): Promise<number[][]> {
  const seen: number[][] = [[], []];
  let epoch = 0;
  const layer = tf.layers.dense({ units: 1, inputShape: [1], name: 'seen' });
  const model = tf.sequential({ layers: [layer] });
  model.compile({ optimizer: tf.train.sgd(0), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const call = layer.call.bind(layer);
  layer.call = (inputs, kwargs) => {
    const [x] = [inputs].flat();
    seen[epoch]!.push(...x!.dataSync());
    return call(inputs, kwargs);
  };
  const samples = rows().map((row) => ({ xs: tf.tensor1d([row as number]), ys: tf.tensor1d([0]) }));
  await model.fitDataset(samples.shuffle(ROWS).batch(BATCH) as never, {
    epochs: 2,
    verbose: 0,
    callbacks: { onEpochEnd: () => void epoch++ },
  });
  disposeModels(model);
  return seen;
}
