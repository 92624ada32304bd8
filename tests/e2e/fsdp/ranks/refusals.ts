// What each stage of fsdp refuses, and what ends with an error after a mistake: codes, with every rank's view.
import { tmpdir } from 'node:os';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DiLoCo, isAccError, LocalSGD, type AcceleratorOptions } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const LAYOUTS = {
  ddp: {},
  unsharded: { strategy: 'fsdp', fsdp: { stage: 'NO_SHARD' } },
  stage1: { strategy: 'fsdp', fsdp: { stage: 1 } },
  stage2: { strategy: 'fsdp', fsdp: { stage: 2 } },
  stage3: { strategy: 'fsdp' },
  hybrid: { strategy: 'fsdp', fsdp: { stage: 'HYBRID_SHARD' }, mesh: { data: 1, fsdp: 2 } },
} satisfies Record<string, AcceleratorOptions>;
export type Layout = keyof typeof LAYOUTS;

export interface Outcome {
  /** `none` if nothing was thrown. */
  readonly code: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whole weights after what was tried. */
  readonly weights?: number[];
  /** Tensors that another try has left, with gradients of the program. */
  readonly leaked?: number;
}

/** By what was tried. */
export type Tried = Record<string, Outcome>;
export type Result = Record<Layout, Tried>;

const values = (shape: readonly number[], seed: number): tf.Tensor2D =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape([...shape])).add(seed)).reshape([...shape]));

async function outcomeOf(act: () => unknown, variables: readonly tf.Variable[] = []): Promise<Outcome> {
  try {
    await act();
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code, details: error.details };
  }
  return { code: 'none', weights: variables.flatMap((variable) => [...variable.dataSync()]) };
}

async function start(options: AcceleratorOptions) {
  const accelerator = await Accelerator.create(options);
  const { processIndex: rank } = accelerator;
  const matrix = (name: string, seed = 1) => tf.variable(values([4, 4], seed), true, name);
  const x = values([2, 4], 10 * rank);
  const lossOf =
    (...weights: tf.Variable[]) =>
    () =>
      weights
        .reduce((y: tf.Tensor, weight) => tf.tanh(tf.matMul(y as tf.Tensor2D, weight as tf.Tensor2D)), x)
        .square()
        .mean() as tf.Scalar;
  return { accelerator, rank, matrix, lossOf };
}

/** Tries calls that need parameters and state on every rank. */
async function refused(layout: Layout): Promise<Tried> {
  const { accelerator, rank, matrix, lossOf } = await start(LAYOUTS[layout]);
  const w = matrix('w');
  const optimizer = tf.train.momentum(0.1, 0.9);
  accelerator.prepare([w], optimizer);
  const step = () => void optimizer.minimize(lossOf(w), false, [w]);
  const steps = (count: number, after: () => void = () => undefined) => {
    for (let i = 0; i < count; i++) {
      step();
      after();
    }
  };
  const apart = (local: LocalSGD | DiLoCo) => {
    steps(4, () => local.step());
    local.end();
  };
  const tried: Tried = {
    joinUnevenInputs: await outcomeOf(
      () => accelerator.joinUnevenInputs(() => Promise.resolve(steps(2 + rank))),
      [w],
    ),
    LocalSGD: await outcomeOf(() => apart(new LocalSGD(accelerator, [w], { localSgdSteps: 2 })), [w]),
    DiLoCo: await outcomeOf(() => apart(new DiLoCo(accelerator, [w], { innerSteps: 2 })), [w]),
  };
  accelerator.freeMemory(w, optimizer);
  disposeOptimizers(optimizer);
  w.dispose();
  const offloaded = isSharded(layout) && { 'compile with offload': await compileWithOffload(layout) };
  return { ...tried, ...offloaded, deterministic: await deterministic(layout) };
}

const isSharded = (layout: Layout): boolean => layout !== 'ddp' && layout !== 'unsharded';

async function compileWithOffload(layout: Layout): Promise<Outcome> {
  const options = LAYOUTS[layout];
  const offload = { optimizer: true, to: tmpdir() };
  const fsdp = { ...('fsdp' in options && options.fsdp), offload };
  const accelerator = await Accelerator.create({ ...options, fsdp });
  const outcome = await outcomeOf(() => accelerator.compile(() => undefined));
  accelerator.freeMemory();
  return outcome;
}

async function deterministic(layout: Layout): Promise<Outcome> {
  const weights: number[] = [];
  const outcome = await outcomeOf(async () => {
    const options = { ...LAYOUTS[layout], deterministic: { virtualShards: 4 }, seed: 1 };
    const accelerator = await Accelerator.create(options);
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [4] })] });
    model.compile({ optimizer: tf.train.adam(0.1), loss: 'meanSquaredError' });
    accelerator.prepare(model);
    const [xs, ys] = [values([8, 4], 3), values([8, 2], 4)];
    await model.fit(xs, ys, { batchSize: 4, epochs: 1, verbose: 0, shuffle: false });
    weights.push(...model.getWeights().flatMap((weight) => [...weight.dataSync()]));
    accelerator.freeMemory(model);
    tf.dispose([xs, ys]);
  });
  return { ...outcome, weights };
}

/** Variables and optimizers that come later than the first steps. */
async function late(layout: Layout): Promise<Tried> {
  const { accelerator, matrix, lossOf } = await start(LAYOUTS[layout]);
  const [a, b] = [matrix('a'), matrix('b', 2)];
  const optimizer = tf.train.adam(0.05);
  accelerator.prepare([a, b], optimizer);
  const given = [a, b];
  optimizer.minimize(lossOf(a, b), false, given);
  const added = matrix('added', 3);
  const unknown = await outcomeOf(() => {
    tf.tidy(() => optimizer.applyGradients(tf.variableGrads(lossOf(a, b, added)).grads as never));
  });
  const all = [a, b, added];
  const named = await outcomeOf(() => void optimizer.minimize(lossOf(...all), false, all), all);

  // Another variable takes the place of one in a unit, and its name. The optimizer finds the state
  // of the first one at its position.
  b.dispose();
  const other = matrix('b', 4);
  accelerator.prepare([other]);
  const rest = [a, other, added];
  const replaced = await outcomeOf(() => void optimizer.minimize(lossOf(...rest), false, rest), rest);
  accelerator.freeMemory(...rest, optimizer);
  tf.dispose(rest);
  return { unknown, named, replaced, trained: await trainedBefore(layout) };
}

/** An optimizer that takes its first step before `prepare`. */
async function trainedBefore(layout: Layout): Promise<Outcome> {
  const { accelerator, matrix, lossOf } = await start(LAYOUTS[layout]);
  const w = matrix('w');
  const optimizer = tf.train.adam(0.05);
  accelerator.noSync(() => optimizer.minimize(lossOf(w), false, [w]));
  accelerator.prepare([w], optimizer);
  const outcome = await outcomeOf(() => void optimizer.minimize(lossOf(w), false, [w]), [w]);
  const grads = { w: tf.onesLike(w) };
  const before = tf.memory().numTensors;
  await outcomeOf(() => optimizer.applyGradients(grads));
  const leaked = tf.memory().numTensors - before;
  accelerator.freeMemory(w, optimizer);
  tf.dispose([w, grads]);
  return { ...outcome, leaked };
}

export default async function refusals(): Promise<Result> {
  const result = {} as Result;
  for (const layout of Object.keys(LAYOUTS) as Layout[]) {
    result[layout] = { ...(await refused(layout)), ...(await late(layout)) };
  }
  tf.disposeVariables();
  return result;
}
