import * as tf from '@tensorflow/tfjs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { adafactor, adamw, DataLoader, LRScheduler, setSeed } from '../index.js';
import type { AcceleratorOptions } from '../options.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-resume-'))));
let accelerator: Accelerator | undefined;
afterEach(async () => {
  accelerator?.freeMemory();
  await rm(folder, { recursive: true });
});

const ROWS = 22;
const BATCH = 4;
const EPOCHS = 3;
const features = () => tf.tidy(() => tf.sin(tf.range(0, ROWS * 5)).reshape([ROWS, 5]) as tf.Tensor2D);
const labels = () => tf.tidy(() => tf.cos(tf.range(0, ROWS)).reshape([ROWS, 1]) as tf.Tensor2D);

/** A network that draws from `Math.random` for its initial weights and its dropout. */
function network(): tf.Sequential {
  return tf.sequential({
    layers: [
      tf.layers.dense({ units: 6, inputShape: [5], activation: 'tanh' }),
      tf.layers.batchNormalization(),
      tf.layers.dropout({ rate: 0.2 }),
      tf.layers.dense({ units: 1 }),
    ],
  });
}

/** The batch after which a run stops, and whether the run resumes from a checkpoint. */
interface Plan {
  /** The number of batches. */
  readonly stopAfter?: number;
  readonly resumes?: boolean;
}

class Stopped extends Error {}

interface Outcome {
  readonly weights: Float32Array[];
  readonly iterations: number;
  readonly rate: number;
}

type Loop = (plan: Plan, options: AcceleratorOptions) => Promise<Outcome>;

async function begin({ resumes }: Plan, options: AcceleratorOptions): Promise<Accelerator> {
  if (options.engine === 'tfjs') await tf.setBackend('cpu');
  setSeed(resumes ? 99 : 5);
  return (accelerator = await Accelerator.create({
    engine: 'acc',
    ...options,
    checkpoint: { dir: folder, preemption: false },
  }));
}

const rateOf = (optimizer: tf.Optimizer) => (optimizer as unknown as { learningRate: number }).learningRate;

function outcome(weights: readonly tf.Tensor[], optimizer: tf.Optimizer): Outcome {
  const { iterations } = optimizer;
  const result = {
    weights: weights.map((w) => w.dataSync<'float32'>().slice()),
    iterations,
    rate: rateOf(optimizer),
  };
  accelerator!.freeMemory();
  return result;
}

/** Counts batches. After `stopAfter` batches it saves and stops the run. */
function stopper({ stopAfter }: Plan): () => Promise<void> {
  let batches = 0;
  return async () => {
    if (++batches !== stopAfter) return;
    await accelerator!.saveState();
    throw new Stopped();
  };
}

const customLoop =
  (makeOptimizer: () => tf.Optimizer): Loop =>
  async (plan, options) => {
    await begin(plan, options);
    const model = network();
    const [xs, ys] = [features(), labels()];
    const loader = new DataLoader({ xs, ys }, { batchSize: BATCH, shuffle: true });
    const adam = makeOptimizer();
    const [, optimizer, data, schedule] = accelerator!.prepare(
      model,
      adam,
      loader,
      LRScheduler.linear(adam, { totalSteps: 20, warmupSteps: 3 }),
    );
    const progress = { epoch: 0 };
    accelerator!.registerForCheckpointing({
      getState: () => ({ ...progress }),
      setState: (state: typeof progress) => Object.assign(progress, state),
    });
    if (plan.resumes) {
      const { epoch } = await accelerator!.loadState();
      expect(epoch).toBe(progress.epoch);
    }
    const afterBatch = stopper(plan);
    for (; progress.epoch < EPOCHS; progress.epoch++) {
      for await (const batch of data) {
        accelerator!.accumulate(() => {
          optimizer.minimize(() => {
            const noise = tf.randomNormal([batch.xs.shape[0], 5], 0, 0.1);
            const predicted = model.apply(tf.add(batch.xs, noise), { training: true }) as tf.Tensor;
            return tf.losses.meanSquaredError(batch.ys, predicted).asScalar();
          });
        });
        schedule.step();
        tf.dispose(batch);
        await afterBatch();
      }
    }
    return outcome(model.getWeights(), optimizer);
  };

const fitLoop: Loop = async (plan, options) => {
  await begin(plan, options);
  const model = network();
  const optimizer = tf.train.momentum(0.05, 0.9);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator!.prepare(model, LRScheduler.cosine(optimizer, { totalSteps: 20 }));
  if (plan.resumes) await accelerator!.loadState();
  await model.fit(features(), labels(), {
    batchSize: BATCH,
    epochs: EPOCHS,
    verbose: 0,
    callbacks: { onBatchEnd: stopper(plan) },
  });
  return outcome(model.getWeights(), optimizer);
};

const fitDatasetLoop =
  (batchesPerEpoch?: number): Loop =>
  async (plan, options) => {
    await begin(plan, options);
    const model = network();
    const optimizer = tf.train.rmsprop(0.02, 0.9, 0.5, undefined, true);
    model.compile({ optimizer, loss: 'meanSquaredError' });
    accelerator!.prepare(model);
    const [xs, ys] = [features().arraySync(), labels().arraySync()];
    const rows = tf.data
      .zip({ xs: tf.data.array(xs), ys: tf.data.array(ys) })
      .shuffle(8, 'seed')
      .batch(BATCH);
    const dataset = (batchesPerEpoch === undefined ? rows : rows.repeat()) as tf.data.Dataset<never>;
    if (plan.resumes) await accelerator!.loadState();
    await model.fitDataset(dataset, {
      epochs: EPOCHS,
      verbose: 0,
      ...(batchesPerEpoch !== undefined && { batchesPerEpoch }),
      callbacks: { onBatchEnd: stopper(plan) },
    });
    return outcome(model.getWeights(), optimizer);
  };

/** The rows are shuffled without a seed. */
const unseededLoop: Loop = async (plan, options) => {
  await begin(plan, options);
  const model = network();
  const optimizer = tf.train.sgd(0.02);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator!.prepare(model);
  const [xs, ys] = [features().arraySync(), labels().arraySync()];
  const rows = tf.data
    .zip({ xs: tf.data.array(xs), ys: tf.data.array(ys) })
    .shuffle(ROWS)
    .batch(BATCH);
  if (plan.resumes) await accelerator!.loadState();
  await model.fitDataset(rows as tf.data.Dataset<never>, {
    epochs: EPOCHS,
    verbose: 0,
    callbacks: { onBatchEnd: stopper(plan) },
  });
  return outcome(model.getWeights(), optimizer);
};

const ALL: readonly [string, Loop, number][] = [
  ['a custom loop', customLoop(() => tf.train.adam(0.02)), 18],
  ['a loop with an optimizer of ours', customLoop(() => adamw({ learningRate: 0.02, weightDecay: 0.1 })), 18],
  ['a loop with factored state', customLoop(() => adafactor({ learningRate: 0.02 })), 18],
  ['fit', fitLoop, 18],
  ['fitDataset', fitDatasetLoop(), 18],
  ['fitDataset with batchesPerEpoch', fitDatasetLoop(5), 15],
  ['fitDataset of rows that are shuffled without a seed', unseededLoop, 18],
];

describe.each<[string, AcceleratorOptions, typeof ALL]>([
  ['acc', {}, ALL],
  ['acc, in windows', { gradientAccumulationSteps: 4 }, ALL],
  ['tfjs, in windows', { engine: 'tfjs', gradientAccumulationSteps: 4 }, [ALL[0]!, ALL[3]!]],
  ['acc, in 16 bits', { mixedPrecision: 'fp16' }, [ALL[0]!, ALL[3]!]],
])('on %s', (_, options, loops) => {
  it.each(loops)(
    '%s, stopped at any step and resumed, ends with the weights of an uninterrupted run',
    async (_name, run, batches) => {
      const full = await run({}, options);
      expect(full.weights[0]!.some((x) => x !== 0)).toBe(true);
      for (const stopAfter of [1, 6, batches - 4]) {
        await expect(run({ stopAfter }, options)).rejects.toThrowError(Stopped);
        accelerator!.freeMemory();
        expect(await run({ resumes: true }, options), `stopped after ${stopAfter}`).toEqual(full);
        await rm(folder, { recursive: true });
      }
      await mkdir(folder);
    },
  );
});

it('an optimizer class that cannot save its state is named', async () => {
  class Backwards extends tf.Optimizer {
    static className = 'Backwards';
    applyGradients(): void {}
    getConfig = () => ({});
  }
  await begin({}, {});
  accelerator!.prepare(new Backwards());
  await expect(accelerator!.saveState()).rejects.toThrowError(
    expect.objectContaining({
      code: 'ACC_STATE_INVALID',
      message: expect.stringContaining('the optimizer Backwards cannot be saved') as string,
      help: expect.stringContaining('async setWeights(list)') as string,
    }),
  );
});

it('states of stateful layers do not fit layers with another batch size', async () => {
  const stateful = async (rows: number) => {
    await begin({}, {});
    const model = tf.sequential({
      layers: [tf.layers.gru({ units: 2, batchInputShape: [rows, 3, 2], stateful: true })],
    });
    accelerator!.prepare(model);
    return model;
  };
  await stateful(2);
  const path = (await accelerator!.saveState())!;
  accelerator!.freeMemory();
  const model = await stateful(4);
  const { states } = model.layers[0] as unknown as { states: tf.Tensor[] };
  await expect(accelerator!.loadState(path)).rejects.toMatchObject({
    code: 'ACC_CHECKPOINT_MISMATCH',
    message: expect.stringContaining('[[[2,2]]]') as string,
  });
  expect(states.map(({ isDisposed }) => isDisposed)).toEqual([false]);
});

describe('callbacks with fields', () => {
  class Patience extends tf.Callback {
    waited = 0;
  }
  class Kept extends Patience {
    getState = () => ({ waited: this.waited });
    setState = ({ waited }: { waited: number }) => void (this.waited = waited);
  }
  const saving = () =>
    new tf.CustomCallback({ onEpochEnd: async () => void (await accelerator!.saveState()) });
  const stopping = () => tf.callbacks.earlyStopping({ monitor: 'loss' });

  async function fit(callbacks: tf.CustomCallbackArgs | tf.Callback[], resumes = false): Promise<unknown[]> {
    await begin({ resumes }, {});
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [5] })] });
    model.compile({ optimizer: tf.train.sgd(0.01), loss: 'meanSquaredError' });
    accelerator!.prepare(model);
    if (resumes) await accelerator!.loadState();
    const told = vi.spyOn(console, 'warn').mockReturnValue();
    try {
      await model.fit(features(), labels(), { epochs: resumes ? 3 : 2, verbose: 0, callbacks });
      return told.mock.calls.map(([text]) => text as unknown);
    } finally {
      told.mockRestore();
      accelerator!.freeMemory();
    }
  }

  it('are named once at saveState if they have no state', async () => {
    const told = await fit([saving() as never, new Patience(), new Kept(), stopping() as never]);
    expect(told).toEqual([expect.stringContaining('callback Patience')]);
    const record = { onEpochEnd: async () => void (await accelerator!.saveState()) };
    expect(await fit(record)).toEqual([]);
  });

  it('get their states in a resumed fit, which says which of them it lacks', async () => {
    const kept = new Kept();
    kept.waited = 7;
    await fit([saving() as never, kept, stopping() as never]);
    const again = new Kept();
    const told = await fit([again], true);
    expect(again.waited).toBe(7);
    expect(told).toEqual([expect.stringContaining('callback earlyStopping')]);
  });
});

it('hooks before loadState run if there is something to load', async () => {
  accelerator = await begin({}, {});
  let calls = 0;
  accelerator.registerLoadStatePreHook(() => void calls++);
  expect(await accelerator.loadState('latest', { ifPresent: true })).toBeUndefined();
  expect(calls).toBe(0);
  await accelerator.saveState();
  expect(await accelerator.loadState('latest', { ifPresent: true })).toMatchObject({ step: 0 });
  expect(calls).toBe(1);
});

it('names the plugins whose state is lost, but not mixed precision in bfloat16, which has none', async () => {
  const told = vi.spyOn(console, 'warn').mockReturnValue();
  const counts = (state: object) => ({ name: 'counter', getState: () => state, setState: () => undefined });
  const resume = async (options: AcceleratorOptions) => {
    told.mockClear();
    const saving = await Accelerator.create({ engine: 'acc', ...options });
    saving.prepare(network(), tf.train.sgd(0.1));
    await saving.saveState(join(folder, 'state'));
    saving.freeMemory();
    accelerator = await Accelerator.create({ engine: 'acc' });
    accelerator.prepare(network(), tf.train.sgd(0.1));
    await accelerator.loadState(join(folder, 'state'));
    accelerator.freeMemory();
    return told.mock.calls.map(([message]) => String(message));
  };
  expect(await resume({ mixedPrecision: 'bf16' })).toEqual([]);
  expect(await resume({ plugins: [counts({ seen: 3 })] })).toEqual([
    expect.stringContaining('that this run does not have: counter.'),
  ]);
  told.mockRestore();
});
