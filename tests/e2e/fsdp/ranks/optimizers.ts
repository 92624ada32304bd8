// Trains one network with every optimizer, by ddp and by each stage of fsdp, on the same global batches.
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  adafactor,
  adamw,
  lamb,
  lion,
  oneBitAdam,
  sgdw,
  type AcceleratorOptions,
} from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const OPTIMIZERS = {
  sgd: () => tf.train.sgd(0.1),
  momentum: () => tf.train.momentum(0.05, 0.9),
  nesterov: () => tf.train.momentum(0.05, 0.9, true),
  adagrad: () => tf.train.adagrad(0.1),
  adadelta: () => tf.train.adadelta(0.5, 0.9, 1e-4),
  rmsprop: () => tf.train.rmsprop(0.01, 0.9, 0, 1e-7),
  'centered rmsprop': () => tf.train.rmsprop(0.005, 0.9, 0.3, 1e-10, true),
  adam: () => tf.train.adam(0.02),
  adamax: () => tf.train.adamax(0.02),
  adamw: () => adamw({ learningRate: 0.02, weightDecay: 0.1, excludeFromWeightDecay: ['^b'] }),
  // The variance is frozen in the second half.
  oneBitAdam: (steps) => oneBitAdam({ learningRate: 0.01, warmupSteps: steps / 2 }),
  sgdw: () => sgdw({ learningRate: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }),
  lion: () => lion({ learningRate: 0.01, weightDecay: 0.1 }),
  lamb: () => lamb({ learningRate: 0.02, excludeFromLayerAdaptation: ['^b'] }),
  adafactor: () => adafactor({ learningRate: 0.05 }),
  'adafactor with momentum': () =>
    adafactor({ learningRate: 0.05, beta1: 0.9, weightDecay: 0.1, clipThreshold: 0.5 }),
  'adafactor without scales': () =>
    adafactor({ learningRate: 0.02, scaleParameter: false, relativeStep: false, epsilon1: 1e-6 }),
} satisfies Record<string, (steps: number) => tf.Optimizer>;
export type Kind = keyof typeof OPTIMIZERS;

const LAYOUTS = {
  ddp: {},
  stage1: { strategy: 'fsdp', fsdp: { stage: 1 } },
  stage2: { strategy: 'fsdp', fsdp: { stage: 2 } },
  // Units of one variable each.
  stage3: { strategy: 'fsdp', fsdp: { bucketBytes: 1 } },
  hybrid: { strategy: 'fsdp', fsdp: { stage: 'HYBRID_SHARD' }, mesh: { data: 2, fsdp: -1 } },
} satisfies Record<string, AcceleratorOptions>;
export type Layout = keyof typeof LAYOUTS;

export interface Trained {
  /** Of this rank's rows, in each step. */
  readonly losses: number[];
  /** Whole, variable by variable, after some steps. */
  readonly weights: number[][][];
  readonly leaked: number;
}

export interface Args {
  readonly layouts: readonly Layout[];
  readonly steps: number;
}

export type Result = Partial<Record<Layout, Record<Kind, Trained>>>;

const ROWS = 12;

/** The names that begin with b are those of vectors. */
const SHAPES: Readonly<Record<string, readonly number[]>> = {
  w1: [4, 7],
  b1: [7],
  experts: [3, 7, 5],
  share: [1],
  w2: [5, 2],
  temperature: [],
  unused: [4, 3],
};

const values = (shape: readonly number[], seed: number): tf.Tensor =>
  tf.tidy(() =>
    tf
      .sin(tf.range(0, tf.util.sizeFromShape([...shape])).add(seed))
      .reshape([...shape])
      .mul(0.7),
  );

interface Batch {
  readonly x: tf.Tensor;
  readonly y: tf.Tensor;
}

/**
 * This rank's rows of a batch. The targets have nothing to do with the inputs, so the loss does not
 * come near 0. There, the gradient is a sum of terms that cancel, and its rounding errors are large
 * beside it. Optimizers that divide by its size, like adafactor, make a whole step of them.
 */
function batchOf(step: number, { rank, size }: { readonly rank: number; readonly size: number }): Batch {
  const rows = ROWS / size;
  const own = (columns: number, seed: number) => values([ROWS, columns], seed).slice([rank * rows], [rows]);
  return { x: own(4, 50 * step), y: own(2, 1000 + 30 * step) };
}

function lossOf({ x, y }: Batch, variables: Record<string, tf.Variable>): tf.Scalar {
  const { w1, b1, experts, share, w2, temperature } = variables;
  const product = (a: tf.Tensor, b: tf.Tensor) => tf.matMul(a as tf.Tensor2D, b as tf.Tensor2D);
  const hidden = tf.tanh(tf.add(product(x, w1!), b1!));
  const ofExperts = tf.matMul(tf.tile(hidden.expandDims(0), [3, 1, 1]), experts!);
  const mixed = tf.tanh(tf.add(ofExperts.sum(0), tf.mul(share!, x.sum(1, true))));
  return product(mixed, w2!).mul(temperature!).sub(y).square().mean() as tf.Scalar;
}

function train(accelerator: Accelerator, kind: Kind, steps: number): Trained {
  const { processIndex: rank, numProcesses: size } = accelerator;
  const variables = Object.fromEntries(
    Object.entries(SHAPES).map(([name, shape], i) => [
      name,
      tf.tidy(() => tf.variable(values(shape, 10 * i + 1), true, name)),
    ]),
  );
  const list = Object.values(variables);
  const optimizer = OPTIMIZERS[kind](steps);
  accelerator.prepare(list, optimizer);
  const trained: Trained = { losses: [], weights: [], leaked: 0 };
  let before = 0;
  for (let step = 0; step < steps; step++) {
    if (step === 2) before = tf.memory().numTensors;
    tf.tidy(() => {
      const batch = batchOf(step, { rank, size });
      const loss = optimizer.minimize(() => lossOf(batch, variables), true, list)!;
      trained.losses.push(loss.dataSync()[0]!);
    });
    if (step % 5 === 4 || step === 0 || step === steps - 1)
      trained.weights.push(list.map((each) => [...each.dataSync()]));
  }
  const leaked = tf.memory().numTensors - before;
  disposeOptimizers(optimizer);
  tf.dispose(list);
  return { ...trained, leaked };
}

export default async function optimizers({ layouts, steps }: Args): Promise<Result> {
  const result: Result = {};
  for (const layout of layouts) {
    const accelerator = await Accelerator.create(LAYOUTS[layout]);
    const found = {} as Record<Kind, Trained>;
    for (const kind of Object.keys(OPTIMIZERS) as Kind[]) found[kind] = train(accelerator, kind, steps);
    accelerator.freeMemory();
    result[layout] = found;
  }
  return result;
}
