// What programs do beside `minimize`, by ddp and by fsdp: gradients of their own, new weights, mistakes; and memory at rest.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, type AcceleratorOptions } from '@acc/core';
import { memoryStats, releaseCachedMemory } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;

const WAYS = {
  ddp: undefined,
  stage1: { stage: 1 },
  stage2: { stage: 2 },
  stage3: { bucketBytes: 1 },
} satisfies Record<string, FsdpOptions | undefined>;
export type Way = keyof typeof WAYS;

export interface Result {
  /** By name: gradients, norms and weights that must be those of ddp. */
  readonly values: Record<Way, Record<string, number[]>>;
  /** Gradients of this rank alone. Stages 2 and 3 have none of the first batch of a window. */
  readonly local: Record<Way, Record<string, number[]>>;
  readonly codes: Record<string, string>;
  readonly leaked: Record<Way, number>;
  readonly kept: Record<Way, Kept>;
  /** Bytes of parameters and of Adam's state at rest, by stage, for `parameters` float32 elements. */
  readonly restingBytes: Record<Way, number>;
  readonly parameters: number;
}

const createFor = (way: Way, others: AcceleratorOptions = {}) => {
  const options = WAYS[way] as FsdpOptions | undefined;
  return Accelerator.create({ ...others, ...(options && { strategy: 'fsdp', fsdp: options }) });
};
const values = (shape: number[], seed: number) =>
  tf.tidy(() =>
    tf
      .sin(
        tf
          .range(
            0,
            shape.reduce((a, b) => a * b),
          )
          .add(seed),
      )
      .reshape(shape),
  );
const numbers = (tensors: readonly tf.Tensor[]) => tensors.flatMap((tensor) => [...tensor.dataSync()]);

async function programs(way: Way): Promise<{ values: Record<string, number[]>; leaked: number }> {
  const accelerator = await createFor(way);
  const { processIndex: rank } = accelerator;
  const w = tf.variable(values([5, 3], 1) as tf.Tensor2D, true, 'w');
  const b = tf.variable(values([3], 2), true, 'b');
  // A variable without dims, and one that is not trained, stay whole.
  const scale = tf.variable(tf.scalar(0.5), true, 'scale');
  const frozen = tf.variable(values([3], 3), false, 'frozen');
  const variables = [w, b, scale];
  const optimizer = tf.train.adam(0.1);
  accelerator.prepare([...variables, frozen], optimizer);
  const x = values([4, 5], 10 * rank) as tf.Tensor2D;
  const loss = () => {
    const y = tf.add(tf.add(tf.matMul(x, w), b), frozen).mul(scale);
    return y.sub(1).square().mean() as tf.Scalar;
  };
  const found: Record<string, number[]> = {};
  const list = (grads: tf.NamedTensorMap) => variables.map(({ name }) => grads[name]!);
  function train(step: number): void {
    tf.tidy(() => {
      const { grads } = accelerator.backward(loss, variables);
      found[`gradients ${step}`] = numbers(list(grads));
      found[`norm ${step}`] = [accelerator.clipGradNorm(grads, 0.3)];
      found[`clipped ${step}`] = numbers(list(grads));
      optimizer.applyGradients(grads as never);
    });
    tf.tidy(() => {
      const { grads } = tf.variableGrads(loss, variables);
      const halves = Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, grad.mul(0.5)]));
      optimizer.applyGradients(halves);
    });
    // Every rank gives a variable the same new values.
    tf.tidy(() => b.assign(b.add(w.sum(0).mul(0.1))));
    found[`weights ${step}`] = numbers([...variables, frozen]);
  }
  train(0);
  const before = tf.memory().numTensors;
  for (let step = 1; step < 3; step++) train(step);
  const leaked = tf.memory().numTensors - before;
  accelerator.freeMemory(...variables, frozen, optimizer);
  x.dispose();
  return { values: found, leaked };
}

/** Gradients of one rank, in a window and in `noSync`: `[rank][element]` under ddp and fsdp alike. */
async function localGradients(way: Way): Promise<Record<string, number[]>> {
  const accelerator = await createFor(way, { gradientAccumulationSteps: 2, gradientClipping: { norm: 0.1 } });
  const w = tf.variable(values([5, 3], 1) as tf.Tensor2D, true, 'w');
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare([w], optimizer);
  const x = values([4, 5], 10 * accelerator.processIndex) as tf.Tensor2D;
  const loss = () => tf.matMul(x, w).square().mean() as tf.Scalar;
  const found: Record<string, number[]> = {};
  tf.tidy(() => {
    found['in noSync'] = numbers([accelerator.noSync(() => accelerator.backward(loss, [w]).grads['w']!)]);
  });
  for (const batch of [0, 1]) {
    tf.tidy(() =>
      accelerator.accumulate(() => {
        const { grads } = accelerator.backward(loss, [w]);
        // Stages 2 and 3 reduce each micro-batch, the others the sum of a window.
        if (batch === 1 || way === 'ddp' || way === 'stage1')
          found[`batch ${batch}`] = numbers([grads['w']!]);
        optimizer.applyGradients(grads as never);
      }),
    );
  }
  found['weights'] = numbers([w]);
  accelerator.freeMemory(w, optimizer);
  disposeOptimizers(optimizer);
  x.dispose();
  return found;
}

/** Two models that train in turn, operators that need several units, errors, models that are replaced. */
async function ordinary(way: Way): Promise<Record<string, number[]>> {
  const accelerator = await createFor(way);
  const { processIndex: rank } = accelerator;
  const matrix = (seed: number, name: string) => tf.variable(values([4, 4], seed) as tf.Tensor2D, true, name);
  const [a, b, c] = [matrix(1, 'a'), matrix(2, 'b'), matrix(3, 'c')];
  const optimizers = [tf.train.adam(0.05), tf.train.adam(0.05)] as const;
  accelerator.prepare([a, b], [c], ...optimizers);
  const x = values([2, 4], 10 * rank) as tf.Tensor2D;
  const product = (...weights: tf.Tensor[]) =>
    weights.reduce(
      (y, weight) => tf.tanh(tf.matMul(y as tf.Tensor2D, weight as tf.Tensor2D)),
      x as tf.Tensor,
    );
  // The norm reads two units in one operator, which sees no variable.
  const penalty = () => tf.concat([a.flatten(), b.flatten()]).square().sum().mul(0.05);
  const first = () => product(a, b, c).square().mean().add(penalty()) as tf.Scalar;
  const second = () => product(c, a).mean() as tf.Scalar;
  const found: Record<string, number[]> = {};
  for (let step = 0; step < 3; step++) {
    optimizers[0].minimize(first, false, [a, b]);
    found[`predicted ${step}`] = tf.tidy(() => numbers([product(b, c)]));
    optimizers[1].minimize(second, false, [c]);
    found[`several ${step}`] = tf.tidy(() =>
      numbers([tf.add(a, b), tf.stack([a, b, c]), tf.addN([a, b, c])]),
    );
    try {
      optimizers[0].minimize(() => {
        throw new Error(`of step ${step}: ${product(a).shape.join()}`);
      });
    } catch (error) {
      found[`thrown ${step}`] = [String(error).length];
    }
  }
  // A read by one rank alone, where the values are in memory, changes nothing for the others.
  if (way !== 'stage3' && rank === 0) a.dataSync();
  const whole = accelerator.getStateDict([a, b, c]);
  found['state'] = numbers(Object.values(whole));
  tf.dispose(whole);
  c.dispose();
  const other = matrix(4, 'c');
  accelerator.prepare([other]);
  for (let step = 0; step < 2; step++) {
    optimizers[0].minimize(() => product(a, b, other).square().mean() as tf.Scalar, false, [a, b]);
  }
  found['replaced'] = numbers([a, b, other]);
  accelerator.freeMemory(a, b, other, ...optimizers);
  x.dispose();
  return found;
}

/** Validation rows that the ranks cannot share out evenly, and `minimize` without a list. */
async function uneven(way: Way): Promise<Record<string, number[]>> {
  const accelerator = await createFor(way);
  const dense = (units: number, seed: number, inputShape?: number[]) =>
    tf.layers.dense({
      units,
      kernelInitializer: tf.initializers.glorotUniform({ seed }),
      ...(inputShape && { inputShape }),
    });
  const model = tf.sequential({ layers: [dense(4, 1, [3]), dense(4, 2), dense(1, 3)] });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const [xs, ys] = [values([12, 3], 1), values([12, 1], 2)];
  const [vx, vy] = [values([7, 3], 3), values([7, 1], 4)];
  const { history } = await model.fit(xs, ys, {
    epochs: 2,
    batchSize: 2,
    shuffle: false,
    verbose: 0,
    validationData: [vx, vy],
  });
  const set = tf.data.zip({ xs: tf.data.array([0, 1, 2, 3, 4, 5]), ys: tf.data.array([1, 2, 3, 4, 5, 6]) });
  const batches = set.map((row) => {
    const { xs: i } = row as { xs: number };
    return { xs: tf.fill([3], i / 6), ys: tf.fill([1], i / 3) };
  });
  const fitted = await model.fitDataset(batches.batch(1), {
    epochs: 1,
    verbose: 0,
    validationData: batches.take(5).batch(1) as never,
  });
  const found = {
    validated: [...(history['val_loss'] as number[]), ...(fitted.history['val_loss'] as number[])],
    losses: [...(history['loss'] as number[]), ...(fitted.history['loss'] as number[])],
  };
  accelerator.freeMemory(model);
  disposeOptimizers(model.optimizer);
  const plain = await createFor(way);
  const w = tf.variable(values([3, 2], 5) as tf.Tensor2D, true, 'plain');
  const optimizer = tf.train.adam(0.1);
  plain.prepare(optimizer);
  const own = values([2, 3], 10 * plain.processIndex) as tf.Tensor2D;
  for (let step = 0; step < 3; step++) {
    optimizer.minimize(() => tf.matMul(own, w).square().mean() as tf.Scalar);
  }
  const weights = numbers([w]);
  plain.freeMemory(w, optimizer);
  tf.dispose([xs, ys, vx, vy, own]);
  return { ...found, weights };
}

export interface Kept {
  /** A slice of a variable when it was made, and two steps later. */
  readonly slice: readonly [number[], number[]];
  /** Weights when a checkpoint was begun, and those that it gives after two more steps. */
  readonly saved: readonly [number[], number[]];
  /** After a step that followed the load, beside one that followed the save. */
  readonly next: readonly [number[], number[]];
}

/** Values that must not change with the weights: a slice, and a checkpoint that is written during steps. */
async function kept(way: Way): Promise<Kept> {
  const accelerator = await createFor(way, { checkpoint: { async: true } });
  const shapes = [
    [64, 512],
    [512, 64],
  ];
  const [a, b] = shapes.map((shape, i) => tf.variable(values(shape, i).mul(0.1), true, `m${i}`));
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare([a!, b!], optimizer);
  const x = values([2, 64], 10 * accelerator.processIndex);
  const step = () =>
    tf.tidy(() => {
      const loss = () =>
        tf
          .matMul(tf.tanh(tf.matMul(x, a!)), b!)
          .square()
          .mean() as tf.Scalar;
      optimizer.minimize(loss, false, [a!, b!]);
      return numbers([a!, b!]);
    });
  step();
  // A part so large is a view.
  const slice = tf.slice(a!, [16, 0], [48, 512]);
  const sliced = numbers([slice]);
  step();
  const saved = step();
  const folder = accelerator.gatherObject([mkdtempSync(join(tmpdir(), 'acc-fsdp-'))])[0]!;
  await accelerator.saveState(join(folder, 'state'), { async: true });
  const next = step();
  step();
  await accelerator.waitForCheckpoint();
  await accelerator.loadState(join(folder, 'state'));
  const result: Kept = {
    slice: [sliced, numbers([slice])],
    saved: [saved, numbers([a!, b!])],
    next: [next, step()],
  };
  accelerator.waitForEveryone();
  rmSync(folder, { recursive: true, force: true });
  accelerator.freeMemory(a!, b!, optimizer);
  tf.dispose([a!, b!, x, slice]);
  return result;
}

async function codes(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  async function attempt(name: string, act: () => unknown): Promise<void> {
    try {
      await act();
      found[name] = 'none';
    } catch (error) {
      found[name] = isAccError(error) ? error.code : String(error);
    }
  }
  const accelerator = await createFor('stage3');
  const { processIndex: rank } = accelerator;
  const w = tf.variable(values([4, 2], 0) as tf.Tensor2D, true, 'w');
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare([w], optimizer);
  const loss = () => tf.ones<tf.Rank.R2>([1, 4]).matMul(w).sum() as tf.Scalar;
  const clone = w.clone();
  optimizer.minimize(loss, false, [w]);
  await attempt('a clone from before the step', () => clone.dataSync());
  const own = new OwnOptimizer(0.1);
  await attempt('an optimizer of the program', () => accelerator.prepare(own));
  disposeOptimizers(own);
  await attempt('an optimizer in noSync', () =>
    accelerator.noSync(() => optimizer.minimize(loss, false, [w])),
  );
  await attempt('joinUnevenInputs', () => accelerator.joinUnevenInputs(() => Promise.resolve()));
  const kept = tf.variable(tf.ones([4]), true, 'kept');
  accelerator.prepare([kept]);
  accelerator.freeMemory(w, optimizer);
  disposeOptimizers(optimizer);
  await attempt('a read after freeMemory', () => kept.dataSync());
  kept.dispose();
  await attempt('options that differ', () =>
    Accelerator.create({ strategy: 'fsdp', fsdp: { limitAllGathers: rank === 0 } }),
  );
  const other = await Accelerator.create({
    strategy: 'fsdp',
    fsdp: { wrap: (layer) => rank === 1 && (layer as { name: string }).name === 'second' },
  });
  await attempt('units that differ', () => {
    const dense = (name: string) => tf.layers.dense({ units: 2, inputShape: [2], name });
    other.prepare(tf.sequential({ layers: [dense('first'), dense('second')] }));
  });
  other.freeMemory();
  await attempt('deterministic', () => Accelerator.create({ strategy: 'fsdp', deterministic: true }));
  return found;
}

/** It may need whole tensors: nobody knows what its update reads. */
class OwnOptimizer extends tf.SGDOptimizer {}

const WIDTH = 256;

async function restingBytes(way: Way): Promise<number> {
  const before = memoryStats().allocatedBytes;
  const accelerator = await createFor(way);
  const layers = [0, 1, 2, 3].map((i) =>
    tf.tidy(() => tf.variable(values([WIDTH, WIDTH], i) as tf.Tensor2D, true, `layer${i}`)),
  );
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(layers, optimizer);
  for (let step = 0; step < 3; step++) {
    tf.tidy(() => {
      const loss = () => {
        const ones: tf.Tensor = tf.ones([2, WIDTH]);
        const x = layers.reduce((y, layer) => tf.tanh(tf.matMul(y, layer)), ones);
        return x.mean() as tf.Scalar;
      };
      optimizer.minimize(loss, false, layers);
    });
  }
  const bytes = memoryStats().allocatedBytes - before;
  accelerator.freeMemory(...layers, optimizer);
  return bytes;
}

export default async function programsOfRanks(): Promise<Result> {
  releaseCachedMemory();
  const result = {
    values: {},
    local: {},
    leaked: {},
    kept: {},
    restingBytes: {},
    parameters: 4 * WIDTH * WIDTH,
  } as unknown as Result & {
    codes: Record<string, string>;
  };
  for (const way of Object.keys(WAYS) as Way[]) {
    const done = await programs(way);
    result.values[way] = {
      ...done.values,
      ...(await ordinary(way)),
      ...(await uneven(way)),
    };
    result.local[way] = await localGradients(way);
    result.leaked[way] = done.leaked;
    result.restingBytes[way] = await restingBytes(way);
  }
  // Last, because a freed block of another size may be larger than what the next way asks for.
  for (const way of Object.keys(WAYS) as Way[]) result.kept[way] = await kept(way);
  result.codes = await codes();
  tf.disposeVariables();
  return result;
}
