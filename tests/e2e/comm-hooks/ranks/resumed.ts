// Trains a small model with each communication hook that has state: without a break, and again with a
// save after half of the steps from which another Accelerator goes on, on the same mesh or on another one.
import { join } from 'node:path';
import { Accelerator, parallelize, type CommHook, type NamedCommHook } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const [ROWS, INPUTS, UNITS, STEPS] = [8, 6, 8, 6];
const DATA_TENSOR = { data: 2, tensor: 2 };
const DATA = { data: 4 };
const PLAN = { a: 'column', b: 'row' } as const;

const HOOKS = {
  powerSgd: { name: 'powerSgd', rank: 1, startIteration: 1 },
  topK: { name: 'topK', ratio: 0.2 },
  oneBit: { name: 'oneBit', warmupSteps: 1 },
} satisfies Record<string, NamedCommHook>;

/** A hook without state, which rounds by the mean size of all gradients of the bucket. */
const BY_MEAN: CommHook = {
  name: 'by mean',
  reduce: ({ gradsLocal, collective }) => {
    const rounded = tf.tidy(() => {
      const step = gradsLocal.abs().mean();
      return gradsLocal.div(step).round().mul(step);
    });
    gradsLocal.dispose();
    return collective.allReduceAsync(rounded, 'sum', { donate: true, agreed: true });
  },
};

export interface Hooked {
  /** Weights as a program sees them after the last step. */
  readonly without: number[][];
  /** The same after a break. */
  readonly resumed: number[][];
  /** The warnings of this rank when it loaded, by the meshes of the save and of the load. */
  readonly warnings: Readonly<Record<string, string[]>>;
}

export interface Resumed {
  readonly hooks: Readonly<Record<string, Hooked>>;
  /** The weights after training with a hook without state. */
  readonly byMean: number[][];
  /** The warnings when state was loaded for weights that are cut otherwise. */
  readonly otherPlan: string[];
}

interface Part {
  readonly hook: NamedCommHook | CommHook;
  readonly plan?: Readonly<Record<string, 'column' | 'row'>>;
  readonly mesh: { readonly data: number; readonly tensor?: number };
  readonly first?: number;
  readonly end?: number;
  readonly load?: string;
  readonly save?: string;
}

function modelOf(): tf.LayersModel {
  const dense = (name: string, units: number, seed: number, more: object = {}) =>
    tf.layers.dense({
      ...{ name, units, activation: 'tanh', ...more },
      kernelInitializer: tf.initializers.glorotNormal({ seed }),
    });
  const first = dense('a', UNITS, 1, { inputShape: [INPUTS] });
  return tf.sequential({ layers: [first, dense('b', INPUTS, 2), dense('c', 4, 3)] });
}

/** Trains some steps. Returns the weights, and what was printed. */
async function train({ hook, mesh, plan = PLAN, first = 0, end = STEPS, load, save }: Part) {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh, ddp: { commHook: hook } });
  const model = modelOf();
  if (mesh.tensor) parallelize(model, plan);
  const [, optimizer] = accelerator.prepare(model, tf.train.momentum(0.1, 0.9));
  const printed = load === undefined ? [] : await warningsOf(() => accelerator.loadState(load));
  const rows = ROWS / mesh.data;
  const start = rows * (accelerator.mesh.coordinates.data ?? 0);
  for (let step = first; step < end; step++) {
    tf.tidy(() => {
      const xs = tf.sin(tf.range(0, ROWS * INPUTS).add(step * 50)).reshape([ROWS, INPUTS]);
      const ys = tf.cos(tf.range(0, ROWS * 4).add(step * 20)).reshape([ROWS, 4]);
      const [x, y] = [xs, ys].map((all) => all.slice(start, rows));
      optimizer.minimize(() => tf.losses.meanSquaredError(y!, model.apply(x!) as tf.Tensor) as tf.Scalar);
    });
  }
  if (save !== undefined) await accelerator.saveState(save);
  const weights = model.getWeights().map((each) => [...each.dataSync()]);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  model.dispose();
  tf.disposeVariables();
  return { weights, printed };
}

async function warningsOf(act: () => Promise<unknown>): Promise<string[]> {
  const printed: string[] = [];
  const { warn } = console;
  console.warn = (message: string) => void printed.push(message);
  try {
    await act();
  } finally {
    console.warn = warn;
  }
  return printed;
}

export default async function resumed(folder: string): Promise<Resumed> {
  const results: Record<string, Hooked> = {};
  for (const [name, hook] of Object.entries(HOOKS)) {
    const half = { hook, end: STEPS / 2 };
    const rest = { hook, first: STEPS / 2 };
    const [onPair, onData] = ['data × tensor', 'data'].map((mesh) => join(folder, `${name} on ${mesh}`));
    const { weights: without } = await train({ hook, mesh: DATA_TENSOR });
    await train({ ...half, mesh: DATA_TENSOR, save: onPair! });
    const same = await train({ ...rest, mesh: DATA_TENSOR, load: onPair! });
    await train({ ...half, mesh: DATA, save: onData! });
    const toData = await train({ ...rest, mesh: DATA, load: onPair! });
    const toPair = await train({ ...rest, mesh: DATA_TENSOR, load: onData! });
    results[name] = {
      ...{ without, resumed: same.weights },
      warnings: { same: same.printed, 'on data': toData.printed, 'from data': toPair.printed },
    };
  }
  const otherPlan = await train({
    ...{ hook: HOOKS.topK, mesh: DATA_TENSOR, plan: { a: 'row', b: 'column' } },
    ...{ first: STEPS / 2, load: join(folder, 'topK on data × tensor') },
  });
  const byMean = await train({ hook: BY_MEAN, mesh: DATA_TENSOR });
  return { hooks: results, byMean: byMean.weights, otherPlan: otherPlan.printed };
}
