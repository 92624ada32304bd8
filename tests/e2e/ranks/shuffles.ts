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

interface Arguments {
  readonly seed?: number;
  readonly dir?: string;
  readonly isOwnOrder?: boolean;
}

export default async function shuffles({ seed, dir, isOwnOrder }: Arguments) {
  if (isOwnOrder) return warningsOfOwnOrders();
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

export interface OwnOrders {
  /** The warnings of this rank, by what orders the rows of `fit`. */
  readonly warnings: Record<string, readonly string[]>;
  /** The rows that fitDataset read, by epoch, after each rank has set a seed of its own. */
  readonly rowsOfOwnSeeds: readonly number[][];
}

async function warningsOfOwnOrders(): Promise<OwnOrders> {
  const accelerator = await Accelerator.create();
  const { processIndex: rank } = accelerator;
  const all = Array.from({ length: ROWS }, (_, row) => row);
  const byDraws = () => all.map((row) => [Math.random(), row] as const).sort(([a], [b]) => a - b);
  const fit = (given: readonly number[]) => async (model: tf.LayersModel) => {
    const [xs, ys] = [tf.tensor2d([...given], [ROWS, 1]), tf.zeros([ROWS, 1])];
    for (let i = 0; i < 2; i++) await model.fit(xs, ys, { batchSize: BATCH, epochs: 1, verbose: 0 });
    tf.dispose([xs, ys]);
  };
  const found: Record<string, readonly string[]> = {};
  const warningsOf = async (name: string, train: (model: tf.LayersModel) => Promise<void>) => {
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });
    model.compile({ optimizer: tf.train.sgd(0), loss: 'meanSquaredError' });
    accelerator.prepare(model);
    const { warn } = console;
    const warned: string[] = [];
    console.warn = (text: string) => warned.push(text);
    await train(model).finally(() => (console.warn = warn));
    found[name] = warned;
    disposeModels(model);
  };
  setSeed(10 + rank);
  await warningsOf('own draws', fit(byDraws().map(([, row]) => row)));
  const rowsOfOwnSeeds = await fitted(accelerator);
  setSeed(10);
  await warningsOf('one seed', fit(byDraws().map(([, row]) => row)));
  const shuffled = [...all];
  tf.util.shuffle(shuffled);
  await warningsOf('tf.util.shuffle', fit(shuffled));
  accelerator.freeMemory();
  return { warnings: found, rowsOfOwnSeeds };
}
