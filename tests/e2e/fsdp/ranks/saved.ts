// Saves training by each strategy in the middle, or goes on from every save by every strategy: `save` or `load`, and a folder.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, adafactor, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;

const WAYS = {
  ddp: undefined,
  stage1: { stage: 1 },
  stage3: { bucketBytes: 1 },
} satisfies Record<string, FsdpOptions | undefined>;
export type Way = keyof typeof WAYS;

/** One with state of the shape of the weights, and one that keeps means of rows and columns. */
const OPTIMIZERS = {
  adam: () => tf.train.adam(0.05),
  adafactor: () => adafactor({ learningRate: 0.05, beta1: 0.9 }),
} satisfies Record<string, () => tf.Optimizer>;
export type Kind = keyof typeof OPTIMIZERS;

/** Whole weights: at the save, and after the last step. */
export interface Trained {
  readonly saved: number[];
  readonly last: number[];
}

export interface Saved {
  readonly trained: Record<Way, Trained>;
  /** Of each way: the model's weights by name as `getStateDict` gives them. */
  readonly stateDicts: Record<Way, Record<string, number[]>>;
}

/** By the way that saved, then the way that loaded. */
export interface Loaded {
  readonly trained: Record<Way, Record<Way, Trained>>;
  /** Weights that `loadModel` gave. */
  readonly models: Record<Way, Record<Way, number[]>>;
}

const ROWS = 12;
const MIDDLE = 4;
const STEPS = 7;

const [phase, folder] = process.argv.slice(2) as ['save' | 'load', string];

async function start(way: Way, kind: Kind) {
  const options = WAYS[way] as FsdpOptions | undefined;
  const accelerator = await Accelerator.create({
    gradientAccumulationSteps: 2,
    ...(options && { strategy: 'fsdp', fsdp: options }),
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const values = (shape: number[], seed: number) =>
    tf
      .sin(
        tf
          .range(
            0,
            shape.reduce((a, b) => a * b),
          )
          .add(seed),
      )
      .reshape(shape);
  const variables = [[4, 7], [7], [7, 3], [3]].map((shape, i) =>
    tf.variable(values(shape, i), true, `weight${i}`),
  );
  const [w1, b1, w2, b2] = variables as [
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
  ];
  const optimizer = OPTIMIZERS[kind]();
  accelerator.prepare(variables, optimizer);
  const step = (index: number) =>
    tf.tidy(() => {
      const rows = ROWS / size;
      const x = values([ROWS, 4], 50 * index).slice([rank * rows], [rows]) as tf.Tensor2D;
      const forward = () => tf.add(tf.matMul(tf.tanh(tf.add(tf.matMul(x, w1), b1)) as tf.Tensor2D, w2), b2);
      accelerator.accumulate(() =>
        optimizer.minimize(() => forward().sub(1).square().mean() as tf.Scalar, false, variables),
      );
    });
  const read = () => variables.flatMap((variable) => [...variable.dataSync()]);
  const end = () => accelerator.freeMemory(...variables, optimizer);
  return { accelerator, variables, step, read, end };
}

async function save(kind: Kind): Promise<Saved> {
  const result: Saved = { trained: {} as Saved['trained'], stateDicts: {} as Saved['stateDicts'] };
  for (const way of Object.keys(WAYS) as Way[]) {
    const { accelerator, variables, step, read, end } = await start(way, kind);
    // Windows close after every second step.
    for (let i = 0; i < MIDDLE; i++) step(i);
    const saved = read();
    await accelerator.saveState(join(folder, kind, way));
    await accelerator.saveModel(variables, join(folder, kind, `${way}-model`));
    const whole = accelerator.getStateDict(variables);
    result.stateDicts[way] = Object.fromEntries(
      Object.entries(whole).map(([name, tensor]) => [name, [...tensor.dataSync()]]),
    );
    tf.dispose(whole);
    for (let i = MIDDLE; i < STEPS; i++) step(i);
    result.trained[way] = { saved, last: read() };
    end();
  }
  return result;
}

async function load(kind: Kind): Promise<Loaded> {
  const result: Loaded = { trained: {} as Loaded['trained'], models: {} as Loaded['models'] };
  for (const from of Object.keys(WAYS) as Way[]) {
    result.trained[from] = {} as Record<Way, Trained>;
    result.models[from] = {} as Record<Way, number[]>;
    for (const way of Object.keys(WAYS) as Way[]) {
      const { accelerator, variables, step, read, end } = await start(way, kind);
      step(0);
      step(1);
      await accelerator.loadModel(variables, join(folder, kind, `${from}-model`));
      result.models[from][way] = read();
      await accelerator.loadState(join(folder, kind, from));
      const saved = read();
      for (let i = MIDDLE; i < STEPS; i++) step(i);
      result.trained[from][way] = { saved, last: read() };
      end();
    }
  }
  return result;
}

const result = {} as Record<Kind, Saved | Loaded>;
for (const kind of Object.keys(OPTIMIZERS) as Kind[]) {
  result[kind] = phase === 'save' ? await save(kind) : await load(kind);
}
reportResult(result);
const last = await Accelerator.create();
await last.endTraining();
