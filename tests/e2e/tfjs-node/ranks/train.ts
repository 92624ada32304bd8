// Trains on one engine and reports the values of each case. Arguments: the engine; a folder in which
// the run saves; and the folder of an earlier run, of any engine and number of ranks, to continue.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { batchOf, lossOf, makeModel, makeOptimizer, ROWS, weightsOf } from '../../ranks/small-program.js';

/** Packages that bring a backend, by its name. They are installed in the project only. */
const PACKAGES: Readonly<Record<string, string>> = {
  tensorflow: '@tensorflow/tfjs-node',
  wasm: '@tensorflow/tfjs-backend-wasm',
};

const [engine = '', folder = '', earlier] = process.argv.slice(2);
const brought = PACKAGES[engine];
if (brought !== undefined) await import(brought);
// tfjs-node activates its backend by itself, and `acc` is taken where the program chooses nothing.
if (engine !== 'tensorflow' && engine !== 'acc') await tf.setBackend(engine);

export interface Refused {
  readonly code: string | undefined;
  readonly message: string;
}

export interface Trained {
  readonly weights: number[][];
  readonly backendName: string;
  readonly leaked: number;
  readonly losses?: number[];
}

export type Results = Readonly<Record<string, Trained | Refused>>;
const results: Record<string, Trained | Refused> = {};

interface Program {
  readonly accelerator: Accelerator;
  readonly model: tf.Sequential;
  readonly optimizer: tf.Optimizer;
  /** Trains on this rank's rows of global batch `i`. */
  step(i: number): void;
}

async function programOf(options: AcceleratorOptions, isNormalized: boolean): Promise<Program> {
  const accelerator = await Accelerator.create(options);
  const model = makeModel(isNormalized);
  const optimizer = makeOptimizer('adam');
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const rows = ROWS / accelerator.numProcesses;
  return {
    accelerator,
    model,
    optimizer,
    step(i) {
      const batch = batchOf(i, rows * accelerator.processIndex, rows);
      accelerator.accumulate(() => void optimizer.minimize(() => lossOf(model, batch)));
      tf.dispose(Object.values(batch));
    },
  };
}

/**
 * Runs one case with its own Accelerator, and notes what it gave or how it was refused. Afterwards
 * the number of tensors must be as before.
 */
async function run(
  name: string,
  options: AcceleratorOptions,
  train: (program: Program) => Promise<number[] | void>,
  isNormalized = false,
): Promise<void> {
  const before = tf.memory().numTensors;
  let program: Program | undefined;
  try {
    program = await programOf(options, isNormalized);
    const losses = await train(program);
    const weights = weightsOf(program.model);
    const { backendName } = program.accelerator;
    program.accelerator.freeMemory(program.model, program.optimizer);
    results[name] = {
      weights,
      backendName,
      leaked: tf.memory().numTensors - before,
      ...(losses && { losses }),
    };
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    results[name] = { code, message };
  }
}

const steps =
  (...batches: readonly number[]) =>
  async (program: Program): Promise<void> => {
    for (const i of batches) program.step(i);
  };

/** An epoch has 4 batches of 6 rows, which the ranks share. */
const EPOCH_ROWS = 24;

const columnsOf = () =>
  tf.tidy(() => ({
    xs: tf.sin(tf.range(0, EPOCH_ROWS * 4)).reshape([EPOCH_ROWS, 4]),
    ys: tf.cos(tf.range(0, EPOCH_ROWS * 3)).reshape([EPOCH_ROWS, 3]),
  }));

/**
 * Two epochs of prepared data. With `save`, the run stops in the second epoch, after a checkpoint in
 * that folder. With `load`, it continues the checkpoint of that folder.
 */
async function epochs({ accelerator, model, optimizer }: Program, way: { save?: string; load?: string }) {
  const columns = columnsOf();
  const loader = new DataLoader(columns, { batchSize: 6, shuffle: true, seed: 3 });
  const data = accelerator.prepare(loader) as AsyncIterable<{ xs: tf.Tensor2D; ys: tf.Tensor2D }>;
  const state = way.load === undefined ? undefined : await accelerator.loadState(way.load);
  let batches = 0;
  for (let epoch = state?.epoch ?? 0; epoch < 2; epoch++) {
    for await (const batch of data) {
      optimizer.minimize(() => lossOf(model, batch));
      tf.dispose([batch.xs, batch.ys]);
      if (++batches === 6 && way.save !== undefined) {
        await accelerator.saveState(way.save);
        epoch = 2;
        break;
      }
    }
  }
  tf.dispose(Object.values(columns));
}

/** Logs to the trackers that need no service. */
async function tracked({ accelerator, model, step }: Program): Promise<number[]> {
  await accelerator.initTrackers('smoke', { engine });
  const losses: number[] = [];
  for (const i of [0, 1]) {
    step(i);
    const batch = batchOf(i);
    const loss = tf.tidy(() => lossOf(model, batch));
    accelerator.log({ loss }, { step: i });
    losses.push(loss.dataSync()[0]!);
    tf.dispose([loss, ...Object.values(batch)]);
  }
  await accelerator.endTraining();
  return losses;
}

/** Trains a filter of a convolution, which is no part of the model. */
async function convolve({ accelerator }: Program): Promise<number[]> {
  const filter = tf.tidy(() => tf.variable(tf.sin(tf.range(0, 18)).reshape([3, 3, 1, 2]) as tf.Tensor4D));
  const optimizer = accelerator.prepare(makeOptimizer('adam'));
  const images = tf.tidy(() => tf.cos(tf.range(0, 50)).reshape([2, 5, 5, 1]) as tf.Tensor4D);
  try {
    for (let i = 0; i < 2; i++) {
      optimizer.minimize(() => tf.conv2d(images, filter, 1, 'same').square().mean(), false, [filter]);
    }
    return [...filter.dataSync()];
  } finally {
    accelerator.freeMemory(optimizer, [filter, images]);
  }
}

await run('ddp', {}, steps(0, 1, 2, 3));
await run('convolution', {}, convolve);
await run('clipped', { gradientClipping: { norm: 0.3 } }, steps(0, 1, 2, 3));
await run('window', { gradientAccumulationSteps: 2 }, steps(0, 1, 2, 3));
for (const stage of [1, 2, 3] as const) {
  await run(`stage ${stage}`, { strategy: 'fsdp', fsdp: { stage } }, steps(0, 1, 2, 3));
}
await run('bf16', { mixedPrecision: 'bf16' }, steps(0, 1, 2, 3));
await run(
  'fit',
  { dataLoader: { splitBatches: true, shuffle: false }, ddp: { batchNorm: 'sync' } },
  async ({ model }) => {
    const { xs, ys } = batchOf(0);
    const { history } = await model.fit(xs, ys, { batchSize: 6, epochs: 2, shuffle: false, verbose: 0 });
    tf.dispose([xs, ys]);
    return history['loss'] as number[];
  },
  true,
);
const SPLIT: AcceleratorOptions = { dataLoader: { splitBatches: true } };
await run('whole', SPLIT, (program) => epochs(program, {}));
const place = join(folder, 'checkpoint');
await run('stopped', SPLIT, (program) => epochs(program, { save: place }));
await run('resumed', SPLIT, (program) => epochs(program, { load: place }));
if (earlier !== undefined) {
  await run('continued', SPLIT, (program) => epochs(program, { load: join(earlier, 'checkpoint') }));
}
await run('tracked', { logWith: ['console', 'jsonl', 'csv', 'tensorboard'], projectDir: folder }, tracked);
reportResult(results);
