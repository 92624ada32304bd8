// Trains with several kinds of loops. `whole`: to the end, and again up to a stop where it saves.
// `resume`: from there to the end. The other arguments are the folder and the names of the loops. Reports
// the weights.
import * as tf from '@tensorflow/tfjs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Accelerator, DataLoader, LRScheduler, setSeed, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [action, folder, ...names] = process.argv.slice(2) as ['whole' | 'resume', string, ...string[]];
const ROWS = 46;
const EPOCHS = 2;

class Stopped extends Error {}

/** The number of batches after which a run stops. Undefined: never. */
interface Plan {
  readonly place: string;
  readonly stopAfter: number | undefined;
  readonly resumes: boolean;
}

interface Loop {
  readonly options: AcceleratorOptions;
  run(accelerator: Accelerator, afterBatch: () => Promise<void>, plan: Plan): Promise<tf.LayersModel>;
}

const features = () => tf.tidy(() => tf.sin(tf.range(0, ROWS * 5)).reshape([ROWS, 5]) as tf.Tensor2D);
const labels = () => tf.tidy(() => tf.cos(tf.range(0, ROWS)).reshape([ROWS, 1]) as tf.Tensor2D);
/**
 * @param extra The units of additional layers, whose weights are large enough to be mapped when
 * they are loaded.
 */
const network = (rate = 0.3, extra: readonly number[] = []) =>
  tf.sequential({
    layers: [
      tf.layers.dense({ units: 16, inputShape: [5], activation: 'tanh' }),
      tf.layers.dropout({ rate }),
      ...extra.map((units) => tf.layers.dense({ units, activation: 'tanh' })),
      tf.layers.dense({ units: 1 }),
    ],
  });

async function customLoop(
  accelerator: Accelerator,
  afterBatch: () => Promise<void>,
  { place, resumes }: Plan,
) {
  const model = network(place.includes('global') ? 0 : undefined, place.includes('large') ? [600, 601] : []);
  const adam = tf.train.adam(0.02);
  const loader = new DataLoader({ xs: features(), ys: labels() }, { batchSize: 4, shuffle: true });
  const [, optimizer, data, schedule] = accelerator.prepare(
    model,
    adam,
    loader,
    LRScheduler.cosine(adam, { totalSteps: 12, warmupSteps: 2 }),
  );
  const run = resumes ? await accelerator.loadState(place) : undefined;
  for (let epoch = run?.epoch ?? 0; epoch < EPOCHS; epoch++) {
    for await (const { xs, ys } of data) {
      accelerator.accumulate(() => {
        optimizer.minimize(() =>
          tf.losses.meanSquaredError(ys, model.apply(xs, { training: true }) as tf.Tensor).asScalar(),
        );
        schedule.step();
      });
      tf.dispose([xs, ys]);
      await afterBatch();
    }
  }
  return model;
}

async function fitLoop(accelerator: Accelerator, afterBatch: () => Promise<void>, { place, resumes }: Plan) {
  const model = network(place.includes('global') ? 0 : undefined);
  model.compile({ optimizer: tf.train.adam(0.02), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  if (resumes) await accelerator.loadState(place);
  await model.fit(features(), labels(), {
    batchSize: 4,
    epochs: EPOCHS,
    verbose: 0,
    callbacks: { onBatchEnd: afterBatch },
  });
  return model;
}

/** The batches are the same for any number of ranks, and no rank draws random numbers. */
const GLOBAL: AcceleratorOptions = { dataLoader: { splitBatches: true }, gradientAccumulationSteps: 4 };

const LOOPS: Readonly<Record<string, Loop>> = {
  custom: { options: {}, run: customLoop },
  large: { options: {}, run: customLoop },
  'in windows': { options: { gradientAccumulationSteps: 4 }, run: customLoop },
  compressed: {
    options: { ddp: { commHook: 'powerSgd', bucketBytes: 512 } },
    run: customLoop,
  },
  'in 16 bits': { options: { mixedPrecision: 'fp16' }, run: customLoop },
  'in 8 bits': {
    options: { mixedPrecision: 'fp8', amp: { exclude: [], fp8: { scaling: 'delayed', amaxHistory: 3 } } },
    run: customLoop,
  },
  fit: { options: {}, run: fitLoop },
  'fit in windows': { options: { gradientAccumulationSteps: 3 }, run: fitLoop },
  'global batches': { options: GLOBAL, run: customLoop },
  'global batches in fit': { options: GLOBAL, run: fitLoop },
};

/** For many values, their digest. */
function numbersOf(values: Float32Array | Int32Array | Uint8Array): number[] {
  if (values.length < 1000) return [...values];
  return [...createHash('sha256').update(values).digest()];
}

async function weightsOf({ options, run }: Loop, plan: Plan): Promise<number[][] | undefined> {
  setSeed(plan.resumes ? 99 : 7);
  const accelerator = await Accelerator.create(options);
  let batches = 0;
  const afterBatch = async () => {
    if (++batches !== plan.stopAfter) return;
    await accelerator.saveState(plan.place);
    throw new Stopped();
  };
  try {
    const model = await run(accelerator, afterBatch, plan);
    return model.getWeights().map((w) => numbersOf(w.dataSync()));
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return undefined;
  } finally {
    accelerator.freeMemory();
  }
}

const results: Record<string, number[][]> = {};
for (const name of names) {
  const loop = LOOPS[name]!;
  for (const stopAfter of [3, 6]) {
    const plan = { place: join(folder, `${name} ${stopAfter}`), stopAfter, resumes: action === 'resume' };
    if (action === 'whole') {
      results[name] ??= (await weightsOf(loop, { ...plan, stopAfter: undefined }))!;
      await weightsOf(loop, plan);
    } else {
      results[`${name} ${stopAfter}`] = (await weightsOf(loop, { ...plan, stopAfter: undefined }))!;
    }
  }
}
reportResult(results);
await (await Accelerator.create()).endTraining();
