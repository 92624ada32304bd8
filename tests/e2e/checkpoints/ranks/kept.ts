// Trains programs whose ranks hold state of their own, to the end (`whole`, which also saves on the
// way) or from the saved state (`resume`). Returns the values at the save, and those at the end.
import * as tf from '@tensorflow/tfjs';
import { join } from 'node:path';
import { Accelerator, DataLoader, setSeed, type AcceleratorOptions } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface KeptArgs {
  readonly action: 'whole' | 'resume';
  readonly folder: string;
}

/** By training. */
export type Kept = Record<string, { readonly at: number[][]; readonly after: number[][] }>;

interface Training {
  readonly options: AcceleratorOptions;
  train(run: Run): Promise<number[][]>;
}

interface Run {
  readonly accelerator: Accelerator;
  /** The checkpoint from which the run resumes. */
  readonly from: string | undefined;
  /** Called after each batch. At the stop it saves, and notes the values. */
  afterBatch(values: () => number[][]): Promise<void>;
  /** Notes the values right after the checkpoint was loaded. */
  loaded(values: () => number[][]): void;
}

/** Within the second window of three micro-batches. */
const STOP = 4;
const ROWS = 30;

const initializer = (seed: number) => tf.initializers.glorotNormal({ seed });
const valuesOf = (model: tf.LayersModel) => () => model.getWeights().map((weight) => [...weight.dataSync()]);

function normalized(): tf.Sequential {
  const { dense, batchNormalization } = tf.layers;
  return tf.sequential({
    layers: [
      dense({ units: 6, inputShape: [4], activation: 'tanh', kernelInitializer: initializer(1) }),
      batchNormalization({ momentum: 0.8 }),
      dense({ units: 3, kernelInitializer: initializer(2) }),
      batchNormalization({ momentum: 0.7 }),
      dense({ units: 1, kernelInitializer: initializer(3) }),
    ],
  });
}

const data = () => ({
  xs: tf.tidy(() => tf.sin(tf.range(0, ROWS * 4).mul(1.3)).reshape([ROWS, 4]) as tf.Tensor2D),
  ys: tf.tidy(() => tf.cos(tf.range(0, ROWS)).reshape([ROWS, 1]) as tf.Tensor2D),
});

/** Trains on the data that `open` opens. */
const trainedOn =
  (open: () => object) =>
  async ({ accelerator, from, afterBatch, loaded }: Run): Promise<number[][]> => {
    const model = normalized();
    const [, optimizer, given] = accelerator.prepare(model, tf.train.adam(0.02), open() as never);
    const values = valuesOf(model);
    const run = from === undefined ? undefined : await accelerator.loadState(from);
    if (run) loaded(values);
    for (let epoch = run?.epoch ?? 0; epoch < 2; epoch++) {
      for await (const { xs, ys } of given as AsyncIterable<Batch>) {
        accelerator.accumulate(() => {
          optimizer.minimize(() =>
            tf.losses.meanSquaredError(ys, model.apply(xs, { training: true }) as tf.Tensor).asScalar(),
          );
        });
        tf.dispose([xs, ys]);
        await afterBatch(values);
      }
    }
    disposeOptimizers(optimizer);
    return values();
  };

const batchNorm = trainedOn(() => new DataLoader(data(), { batchSize: 2, shuffle: true }));

/** Its values are the weights, and the states of the layer for the rows of this rank. */
async function stateful({ accelerator, from, afterBatch, loaded }: Run): Promise<number[][]> {
  const { lstm, gru, dense } = tf.layers;
  const args = (seed: number) => ({
    stateful: true,
    kernelInitializer: initializer(seed),
    recurrentInitializer: initializer(seed + 1),
  });
  const model = tf.sequential({
    layers: [
      lstm({ units: 3, batchInputShape: [2, 2, 2], returnSequences: true, ...args(1) }),
      gru({ units: 3, ...args(3) }),
      dense({ units: 1, kernelInitializer: initializer(5) }),
    ],
  });
  const loader = new DataLoader(data(), { batchSize: 2 });
  const [, optimizer, batches] = accelerator.prepare(model, tf.train.sgd(0.05), loader);
  const states = () =>
    model.layers.slice(0, 2).flatMap((layer) => (layer as unknown as { states: tf.Tensor[] }).states);
  const values = () => [...model.getWeights(), ...states()].map((tensor) => [...tensor.dataSync()]);
  const run = from === undefined ? undefined : await accelerator.loadState(from);
  if (run) loaded(values);
  for (let epoch = run?.epoch ?? 0; epoch < 2; epoch++) {
    for await (const { xs, ys } of batches) {
      optimizer.minimize(() => {
        const series = tf.reshape(xs, [-1, 2, 2]);
        return tf.losses
          .meanSquaredError(ys, model.apply(series, { training: true }) as tf.Tensor)
          .asScalar();
      });
      tf.dispose([xs, ys]);
      await afterBatch(values);
    }
  }
  const after = values();
  model.resetStates();
  tf.dispose(states());
  disposeOptimizers(optimizer);
  return after;
}

/** Counts its epochs. Saves after each, before the callbacks after it hear of the end of the epoch. */
class Counter extends tf.Callback {
  readonly best = tf.scalar(0.5);
  #epochs = 0;
  readonly #run: Run;
  readonly #values: () => number[][];
  #isLoaded: boolean;

  constructor(run: Run, values: () => number[][]) {
    super();
    this.#run = run;
    this.#values = () => [...values(), [this.#epochs]];
    this.#isLoaded = run.from === undefined;
  }

  override onTrainBegin(): Promise<void> {
    this.#epochs = 0;
    return Promise.resolve();
  }

  override onEpochBegin(): Promise<void> {
    if (!this.#isLoaded) this.#run.loaded(this.#values);
    this.#isLoaded = true;
    return Promise.resolve();
  }

  /** A training that was stopped has no further epoch. */
  override onTrainEnd(): Promise<void> {
    return this.onEpochBegin();
  }

  override async onEpochEnd(): Promise<void> {
    this.#epochs++;
    await this.#run.afterBatch(this.#values);
  }

  getState(): { best: tf.Tensor; epochs: number } {
    return { best: this.best, epochs: this.#epochs };
  }

  setState({ best, epochs }: { best: tf.Tensor; epochs: number }): void {
    if (best.dataSync()[0] === 0.5) this.#epochs = epochs;
  }
}

/**
 * No epoch is better than the first one. Its values are the weights, the counts of early stopping and
 * those of the program's callback.
 */
const earlyStopping =
  (patience: number, loop: 'fit' | 'fitDataset') =>
  async (run: Run): Promise<number[][]> => {
    const { accelerator, from } = run;
    const model = normalized();
    const optimizer = tf.train.adam(0.02);
    model.compile({ optimizer, loss: 'meanSquaredError' });
    accelerator.prepare(model);
    const stopping = tf.callbacks.earlyStopping({ monitor: 'loss', minDelta: 100, patience });
    const counts = () => {
      const { wait, best, stoppedEpoch } = stopping as unknown as Record<string, number>;
      return [wait!, best!, stoppedEpoch!];
    };
    const values = () => [...valuesOf(model)(), counts()];
    if (from !== undefined) await accelerator.loadState(from);
    const counter = new Counter(run, values);
    const callbacks = [counter, stopping];
    const { xs, ys } = data();
    const args = { epochs: 12, verbose: 0 as const, callbacks };
    const rows = (x: tf.Tensor2D) => tf.data.array(x.arraySync());
    if (loop === 'fit') await model.fit(xs, ys, { ...args, batchSize: 8 });
    else await model.fitDataset(tf.data.zip({ xs: rows(xs), ys: rows(ys) }).batch(8) as never, args);
    tf.dispose([xs, ys, counter.best]);
    disposeOptimizers(optimizer);
    return values();
  };

type Batch = { xs: tf.Tensor2D; ys: tf.Tensor2D };

const noise = (x: tf.Tensor2D) => tf.add(x, tf.randomNormal(x.shape, 0, 0.1)) as tf.Tensor2D;

/** Samples with noise, batches of them, and batches after those. */
function augmentedLoader(): DataLoader<Batch> {
  const { xs, ys } = data();
  const [rows, labels] = [xs.arraySync(), ys.arraySync()];
  tf.dispose([xs, ys]);
  const dataset = {
    length: ROWS,
    get: async (i: number) => {
      const before = Math.random();
      await Promise.resolve();
      return { x: rows[i]!.map((value) => value + before * Math.random()), y: labels[i]! };
    },
  };
  const collate = (samples: unknown[]): Batch => {
    const given = samples as Awaited<ReturnType<typeof dataset.get>>[];
    const scale = 1 + Math.random();
    return {
      xs: tf.tensor2d(given.map(({ x }) => x.map((value) => value * scale))),
      ys: tf.tensor2d(given.map(({ y }) => y)),
    };
  };
  const transform = (batch: unknown) => ({ ...(batch as Batch), xs: noise((batch as Batch).xs) });
  return new DataLoader(dataset, { batchSize: 2, shuffle: true, collate, transform }) as DataLoader<Batch>;
}

function augmentedStream(): DataLoader<Batch> {
  const { xs, ys } = data();
  const [rows, labels] = [xs.arraySync(), ys.arraySync()];
  tf.dispose([xs, ys]);
  async function* read() {
    for (const [i, row] of rows.entries()) {
      yield { xs: row.map((value) => value + Math.random()), ys: labels[i]! };
    }
  }
  return new DataLoader(read, { batchSize: 2 }) as unknown as DataLoader<Batch>;
}

function augmentedDataset(): tf.data.Dataset<never> {
  const { xs, ys } = data();
  const samples = xs.arraySync().map((x, i) => ({ x, y: ys.arraySync()[i]! }));
  tf.dispose([xs, ys]);
  type Sample = (typeof samples)[number];
  const scaled = (sample: unknown) => ({ ...(sample as Sample), scale: 1 + Math.random() });
  return tf.data
    .array(samples)
    .shuffle(8)
    .map((sample) => scaled(sample))
    .batch(2)
    .mapAsync(async (batch) => {
      const { x, y, scale } = batch as unknown as { x: tf.Tensor2D; y: tf.Tensor2D; scale: tf.Tensor1D };
      await Promise.resolve();
      return tf.tidy(() => ({ xs: noise(tf.mul(x, tf.expandDims(scale, 1))), ys: tf.clone(y) }));
    }) as tf.data.Dataset<never>;
}

const AHEAD: AcceleratorOptions = { dataLoader: { prefetch: 2 } };

const TRAININGS: Readonly<Record<string, Training>> = {
  'batch norm in windows': { options: { gradientAccumulationSteps: 3 }, train: batchNorm },
  'local batch norm': { options: { ddp: { batchNorm: 'local' } }, train: batchNorm },
  'stateful layers': { options: {}, train: stateful },
  'early stopping in fit': { options: {}, train: earlyStopping(6, 'fit') },
  'early stopping in fitDataset': { options: {}, train: earlyStopping(6, 'fitDataset') },
  'samples with noise': { options: {}, train: trainedOn(augmentedLoader) },
  'samples with noise, read ahead': { options: AHEAD, train: trainedOn(augmentedLoader) },
  'a stream with noise, read ahead': { options: AHEAD, train: trainedOn(augmentedStream) },
  'tf.data with noise': { options: {}, train: trainedOn(augmentedDataset) },
  'tf.data with noise, read ahead': { options: AHEAD, train: trainedOn(augmentedDataset) },
  'a training that was stopped': { options: {}, train: earlyStopping(3, 'fit') },
};

async function run(name: string, { action, folder }: KeptArgs): Promise<Kept[string]> {
  const { options, train } = TRAININGS[name]!;
  const place = join(folder, name);
  setSeed(action === 'whole' ? 7 : 99);
  const accelerator = await Accelerator.create({ seed: 5, ...options });
  let at: number[][] | undefined;
  let batches = 0;
  const after = await train({
    accelerator,
    from: action === 'resume' ? place : undefined,
    async afterBatch(values) {
      if (action === 'resume' || ++batches !== STOP) return;
      await accelerator.saveState(place);
      at = values();
    },
    loaded: (values) => (at = values()),
  });
  accelerator.freeMemory();
  tf.disposeVariables();
  return { at: at!, after };
}

export default async function kept(args: KeptArgs): Promise<Kept> {
  const results: Kept = {};
  for (const name of Object.keys(TRAININGS)) results[name] = await run(name, args);
  return results;
}
