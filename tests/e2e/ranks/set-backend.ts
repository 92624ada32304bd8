// Sets other backends during training. Arguments: `after` or `before` (`create`), and a folder for
// checkpoints. Reports the weights and observations by case.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, LocalSGD, setSeed, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { batchOf, lossOf, makeModel, makeOptimizer, ROWS, weightsOf } from './small-program.js';

const [when, folder] = process.argv.slice(2) as ['after' | 'before', string];

interface Program {
  readonly accelerator: Accelerator;
  readonly model: tf.Sequential;
  readonly optimizer: tf.Optimizer;
  /** This rank's part of global batch `i`, trained on `backend`. */
  step(i: number, backend: string): Promise<void>;
}

async function training(options: AcceleratorOptions, kind: 'adam' | 'sgd' = 'adam'): Promise<Program> {
  const accelerator = await Accelerator.create(options);
  const [model, optimizer] = accelerator.prepare(makeModel(), makeOptimizer(kind));
  const rows = ROWS / accelerator.numProcesses;
  return {
    accelerator,
    model,
    optimizer,
    async step(i, backend) {
      await tf.setBackend(backend);
      const batch = batchOf(i, rows * accelerator.processIndex, rows);
      accelerator.accumulate(() => void optimizer.minimize(() => lossOf(model, batch)));
      tf.dispose(Object.values(batch));
      places.push(`${accelerator.backendName} ${accelerator.device}`);
    },
  };
}

/** The backend and device that each step of the case reported. */
let places: string[] = [];
const cases: Record<string, object> = {};

/**
 * Runs `train` with its own Accelerator. Afterwards the number of tensors must be the same as
 * before.
 */
async function run(
  name: string,
  options: AcceleratorOptions,
  train: (program: Program) => Promise<object | void>,
  kind?: 'adam' | 'sgd',
): Promise<void> {
  const before = tf.memory().numTensors;
  places = [];
  const program = await training(options, kind);
  const seen = await train(program);
  const weights = weightsOf(program.model);
  program.accelerator.freeMemory(program.model, program.optimizer);
  cases[name] = { weights, places, leaked: tf.memory().numTensors - before, ...seen };
}

const through =
  (backends: readonly string[]) =>
  async ({ step }: Program): Promise<void> => {
    for (const [i, backend] of backends.entries()) await step(i, backend);
  };

async function afterCreate(): Promise<void> {
  await run(
    'clipped',
    { gradientClipping: { norm: 0.3 } },
    through(['acc', 'cpu', 'cpu', 'acc', 'cpu', 'acc']),
  );
  await tf.setBackend('acc');
  // A window whose gradients were computed on one backend closes on the other.
  await run('window', { gradientAccumulationSteps: 2 }, through(['acc', 'cpu', 'cpu', 'acc', 'acc', 'acc']));
  await run('fp16', { mixedPrecision: 'fp16' }, through(['acc', 'cpu', 'acc', 'cpu', 'acc', 'acc']));
  await run('saved', {}, async ({ accelerator, step }) => {
    const dir = join(folder, `of-${accelerator.numProcesses}`);
    for (const i of [0, 1]) await step(i, 'acc');
    await tf.setBackend('cpu');
    await accelerator.saveState(dir);
    await step(7, 'acc');
    await tf.setBackend('cpu');
    await accelerator.loadState(dir);
    await step(2, 'cpu');
    await accelerator.saveState(dir);
    await step(8, 'cpu');
    await tf.setBackend('acc');
    await accelerator.loadState(dir);
    await step(3, 'acc');
  });
  await run('compiled', {}, async ({ accelerator, model, optimizer }) => {
    const rows = ROWS / accelerator.numProcesses;
    const compiled = accelerator.compile((xs: tf.Tensor2D, ys: tf.Tensor2D) => {
      optimizer.minimize(() => lossOf(model, { xs, ys }));
    });
    const reasons: (string | undefined)[] = [];
    const replays: number[] = [];
    const backends = ['acc', 'acc', 'acc', 'acc', 'acc', 'cpu', 'cpu', 'acc', 'acc', 'acc', 'acc', 'acc'];
    for (const [i, backend] of backends.entries()) {
      await tf.setBackend(backend);
      const { xs, ys } = batchOf(i, rows * accelerator.processIndex, rows);
      compiled(xs, ys);
      tf.dispose([xs, ys]);
      reasons.push(compiled.reason);
      replays.push(compiled.replays);
    }
    return { reasons, replays };
  });
  await run(
    'localSgd',
    {},
    async ({ accelerator, model, step }) => {
      const local = new LocalSGD(accelerator, model, { localSgdSteps: 1 });
      for (const [i, backend] of ['acc', 'cpu', 'acc', 'cpu'].entries()) {
        await step(i, backend);
        local.step();
      }
      local.end();
      await tf.setBackend('acc');
    },
    'sgd',
  );
  await fitted();
  await drawn();
}

/** `fit` with synchronised batch normalisation. */
async function fitted(): Promise<void> {
  const before = tf.memory().numTensors;
  const accelerator = await Accelerator.create({
    dataLoader: { splitBatches: true, shuffle: false },
    ddp: { batchNorm: 'sync' },
  });
  const model = makeModel(true);
  const optimizer = makeOptimizer('adam');
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const { xs, ys } = batchOf(0);
  const losses: unknown[] = [];
  for (const backend of ['acc', 'cpu', 'acc']) {
    await tf.setBackend(backend);
    const { history } = await model.fit(xs, ys, { batchSize: 6, epochs: 2, shuffle: false, verbose: 0 });
    losses.push(...history['loss']!);
  }
  const weights = weightsOf(model);
  accelerator.freeMemory(model, optimizer, [xs, ys]);
  cases['fit'] = { weights, losses, leaked: tf.memory().numTensors - before };
}

/** Random numbers after `setSeed` on either backend. */
async function drawn(): Promise<void> {
  const accelerator = await Accelerator.create();
  const dropout = accelerator.prepare(
    tf.sequential({ layers: [tf.layers.dropout({ rate: 0.5, inputShape: [8] })] }),
  );
  const draws: Record<string, number[][]> = {};
  for (const backend of ['acc', 'cpu']) {
    await tf.setBackend(backend);
    setSeed(5);
    await tf.setBackend('acc');
    draws[backend] = tf.tidy(() => {
      const dropped = dropout.apply(tf.ones([4, 8]), { training: true }) as tf.Tensor;
      return [[...dropped.dataSync()], [...tf.randomNormal([4]).dataSync()]];
    });
  }
  setSeed(5);
  dropout.apply(tf.ones([4, 8]), { training: true });
  await tf.setBackend('cpu');
  draws['normal on cpu'] = [[...tf.randomNormal([4]).dataSync()]];
  await tf.setBackend('acc');
  accelerator.freeMemory(dropout);
  cases['random'] = draws;
}

async function beforeCreate(): Promise<void> {
  // tfjs chooses a backend for the first tensor, which does not count as a choice of the program.
  tf.ones([2]).dispose();
  await run('tensorsFirst', {}, through(['acc', 'acc']));
  await tf.setBackend('cpu');
  await run('cpuFirst', { gradientClipping: { norm: 0.3 } }, async (program) => {
    places.push(program.accelerator.backendName);
    await through(['cpu', 'cpu', 'acc', 'acc', 'cpu', 'cpu'])(program);
  });
  await run('again', {}, through(['cpu', 'cpu']));
  await run('asked', { engine: 'acc' }, async (program) => {
    places.push(program.accelerator.backendName);
  });
}

await (when === 'after' ? afterCreate() : beforeCreate());
reportResult(cases);
await (await Accelerator.create({ engine: 'acc' })).endTraining();
