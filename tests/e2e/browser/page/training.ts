// The same training in a page and in Node.js.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, adamw, DataLoader, LRScheduler, setSeed, type AcceleratorOptions } from '@acc/core';

const ROWS = 24;
const BATCH = 4;
export const MICRO_STEPS = ROWS / BATCH;

/** Numbers without a pattern, the same everywhere. They are exact in float32. */
function numbers(count: number, start: number): number[] {
  let state = start;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 16) / 2 ** 15 - 1;
  });
}

function createModel(): tf.Sequential {
  const units = [8, 8, 8, 8, 3];
  const layers = units.map((size, i) =>
    tf.layers.dense({
      units: size,
      ...(i === 0 && { inputShape: [5] }),
      ...(i < units.length - 1 && { activation: 'tanh' as const }),
      name: `dense${i}`,
    }),
  );
  const model = tf.sequential({ layers });
  let start = 7;
  for (const weight of model.weights) {
    const { shape } = weight;
    const values = numbers(tf.util.sizeFromShape(shape as number[]), start++).map((value) => value / 2);
    tf.tidy(() => void weight.write(tf.tensor(values, shape as number[])));
  }
  return model;
}

/** Everything that a training of a page may use. */
const ALL: AcceleratorOptions = {
  gradientAccumulationSteps: 2,
  gradientClipping: { norm: 0.05 },
  checkpointEvery: 2,
};

/** A training whose parts a test needs. */
export async function prepareTraining(options: AcceleratorOptions = {}) {
  setSeed(3);
  const accelerator = await Accelerator.create({ ...ALL, ...options });
  const rows = {
    xs: tf.tensor2d(numbers(ROWS * 5, 1), [ROWS, 5]),
    ys: tf.tensor2d(numbers(ROWS * 3, 2), [ROWS, 3]),
  };
  const loader = new DataLoader(rows, { batchSize: BATCH, shuffle: true, seed: 5 });
  const [model, optimizer, data] = accelerator.prepare(
    createModel(),
    adamw({ learningRate: 0.02, weightDecay: 0.1 }),
    loader,
  );
  const schedule = accelerator.prepare(LRScheduler.cosine(optimizer, { warmupSteps: 2, totalSteps: 20 }));
  const losses: number[] = [];
  const epoch = async (): Promise<void> => {
    for await (const { xs, ys } of data) {
      const cost = accelerator.accumulate(() =>
        optimizer.minimize(
          () => tf.losses.meanSquaredError(ys, model.apply(xs) as tf.Tensor).asScalar(),
          true,
        ),
      )!;
      schedule.step();
      losses.push((await cost.data())[0]!);
      tf.dispose([xs, ys, cost]);
    }
  };
  const weights = async () =>
    Promise.all(model.getWeights().map(async (weight) => Array.from(await weight.data())));
  /** Trains a model with tfjs's own loop, and gives the loss of each epoch. */
  const fit = async (trained: tf.LayersModel = model, onEpochEnd?: () => Promise<void>) => {
    if (trained === model) {
      model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
      accelerator.prepare(model);
    }
    const { xs, ys } = rows;
    const given = {
      batchSize: BATCH,
      epochs: 2,
      verbose: 0,
      ...(onEpochEnd && { callbacks: { onEpochEnd } }),
    };
    return (await trained.fit(xs, ys, given)).history['loss'] as number[];
  };
  /** Trains a model with `fitDataset` and validates it, and gives the losses of each epoch. */
  const fitDataset = async () => {
    model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
    accelerator.prepare(model);
    const dataset = tf.data
      .zip({ xs: tf.data.array(await rows.xs.array()), ys: tf.data.array(await rows.ys.array()) })
      .batch(BATCH);
    const given = { epochs: 2, verbose: 0 as const, validationData: dataset };
    const { history } = await model.fitDataset(
      dataset as tf.data.Dataset<tf.TensorContainer>,
      given as never,
    );
    return [...(history['loss'] as number[]), ...(history['val_loss'] as number[])];
  };
  const free = () => {
    accelerator.freeMemory(model, optimizer);
    tf.dispose(rows);
  };
  return { accelerator, model, losses, epoch, fit, fitDataset, weights, free };
}

export interface Trained {
  readonly backend: string;
  readonly losses: readonly number[];
  readonly weights: readonly (readonly number[])[];
}

/** Trains some epochs on the active backend, from the start. */
export async function train(epochs: number, options: AcceleratorOptions = {}): Promise<Trained> {
  const { accelerator, losses, epoch, weights, free } = await prepareTraining(options);
  for (let i = 0; i < epochs; i++) await epoch();
  const trained = { backend: accelerator.backendName, losses, weights: await weights() };
  free();
  return trained;
}
