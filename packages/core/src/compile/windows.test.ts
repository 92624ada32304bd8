import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { DataLoader, gradientNoiseScale, LRScheduler } from '../index.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  vi.restoreAllMocks();
});

/** Weights and norms of ten steps, with clipping, a schedule over samples and a plugin that looks at gradients. */
async function train(isCompiled: boolean) {
  const noise = gradientNoiseScale();
  accelerator = await Accelerator.create({ gradientClipping: { norm: 0.5, value: 0.3 }, plugins: [noise] });
  const w = tf.variable(tf.tensor1d([1, 2, 3]));
  const optimizer = tf.train.adam(0.1);
  const loader = new DataLoader(tf.sin(tf.range(0, 180)).reshape([60, 3]), { batchSize: 6 });
  const schedule = LRScheduler.linear(optimizer, { totalSteps: 100, unit: 'samples' });
  const [, , data, scheduler] = accelerator.prepare([w], optimizer, loader, schedule);
  const plain = (x: tf.Tensor) => optimizer.minimize(() => x.mul(w).square().mean() as tf.Scalar, true)!;
  const step = isCompiled ? accelerator.compile(plain) : plain;
  const seen: (number | undefined)[] = [];
  for await (const x of data) {
    seen.push(step(x).dataSync()[0]);
    scheduler.step();
    seen.push(accelerator.gradientNorm, scheduler.learningRate);
  }
  const replays = 'replays' in step ? step.replays : undefined;
  const reason = 'reason' in step ? step.reason : undefined;
  accelerator.freeMemory();
  return { seen, weights: [...w.dataSync()], replays, reason };
}

it('clipping, schedules and plugins act in replays as they do without', async () => {
  const plain = await train(false);
  const compiled = await train(true);
  expect(compiled).toMatchObject({ seen: plain.seen, weights: plain.weights, replays: 7 });
  expect(compiled.reason).toBeUndefined();
});

interface Case {
  readonly steps: number;
  readonly isInside?: boolean;
  readonly options?: AcceleratorOptions;
  readonly optimizer?: () => tf.Optimizer;
  readonly weighs?: boolean;
  readonly fuse?: 'exact' | false;
  /**
   * Of 30 micro-batches, in three epochs of ten. Each kind of them (that holds gradients or closes a
   * window, with one number or another) runs once and is recorded twice, and the smaller batch once.
   */
  readonly replays: number;
}

/** Losses, weights after each micro-batch, and clipped norms of three epochs of ten micro-batches. */
async function windows({ steps, options, optimizer, isInside, weighs, fuse }: Case, isCompiled: boolean) {
  accelerator = await Accelerator.create({ gradientAccumulationSteps: steps, ...options });
  const w = tf.variable(tf.randomNormal([3, 4], 0, 1, 'float32', 7) as tf.Tensor2D);
  const b = tf.variable(tf.zeros([4]));
  // The last batch has two rows less.
  const loader = new DataLoader(tf.sin(tf.range(0, 174)).reshape([58, 3]), { batchSize: 6 });
  const [, prepared, data] = accelerator.prepare([w, b], (optimizer ?? (() => tf.train.adam(0.1)))(), loader);
  const loss = (x: tf.Tensor2D, count: number) => {
    const mean = tf.matMul(x, w).add(b).sigmoid().square().mean() as tf.Scalar;
    return weighs ? accelerator.weighLoss(mean, count) : mean;
  };
  const minimize = (x: tf.Tensor2D, count: number) => prepared.minimize(() => loss(x, count), true)!;
  const micro = isInside
    ? (x: tf.Tensor2D, count: number) => accelerator.accumulate(() => minimize(x, count))
    : minimize;
  const compiled = isCompiled ? accelerator.compile(micro, fuse === undefined ? {} : { fuse }) : undefined;
  const step = compiled ?? micro;
  const seen: unknown[] = [];
  for (let epoch = 0; epoch < 3; epoch++) {
    let at = 0;
    for await (const x of data) {
      const call = () => step(x as tf.Tensor2D, 1 + (at++ % 2));
      seen.push((isInside ? call() : accelerator.accumulate(call)).dataSync()[0], accelerator.gradientNorm);
      seen.push(...w.dataSync(), ...b.dataSync());
    }
  }
  const { replays, reason } = compiled ?? { replays: 0, reason: undefined };
  accelerator.freeMemory();
  tf.disposeVariables();
  return { seen, replays, reason };
}

describe('micro-batches are replayed with the bits of the plain window', () => {
  const clipping = { gradientClipping: { norm: 0.05, value: 0.03 } };
  it.each<[string, Case]>([
    ['two in a window', { steps: 2, replays: 23 }],
    ['three, with a short window at the end of data', { steps: 3, replays: 18 }],
    ['three, with SGD', { steps: 3, optimizer: () => tf.train.sgd(0.5), replays: 18 }],
    ['clipped', { steps: 3, options: clipping, replays: 18 }],
    ['in bfloat16', { steps: 2, options: { mixedPrecision: 'bf16' }, replays: 23 }],
    [
      'with a loss scale',
      { steps: 2, options: { mixedPrecision: 'fp16', amp: { lossScale: { initial: 64 } } }, replays: 23 },
    ],
    ['weighed by items', { steps: 2, weighs: true, replays: 23 }],
    ['without fusion', { steps: 2, fuse: false, replays: 23 }],
    ["with fuse 'exact'", { steps: 2, fuse: 'exact', replays: 23 }],
    ['accumulate inside of the step', { steps: 3, isInside: true, replays: 17 }],
    ['accumulate inside of the step, clipped', { steps: 2, isInside: true, options: clipping, replays: 22 }],
  ])('%s', async (_, of) => {
    const plain = await windows(of, false);
    const compiled = await windows(of, true);
    expect(compiled.reason).toBeUndefined();
    expect(compiled.seen).toEqual(plain.seen);
    expect(compiled.replays).toBe(of.replays);
  });
});

it('a step that runs whole windows itself is replayed', async () => {
  accelerator = await Accelerator.create({ gradientAccumulationSteps: 2 });
  const w = tf.variable(tf.scalar(1));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
  const step = accelerator.compile((...xs: tf.Tensor[]) => {
    for (const x of xs) {
      accelerator.accumulate(() => void optimizer.minimize(() => w.mul(x) as tf.Scalar));
    }
  });
  for (let i = 0; i < 7; i++) step(tf.scalar(i), tf.scalar(i + 2));
  // The gradients of a window have the mean i + 1.
  expect(w.dataSync()[0]).toBeCloseTo(1 - 0.1 * (1 + 2 + 3 + 4 + 5 + 6 + 7), 6);
  expect([step.replays, step.failedReplays, step.reason]).toEqual([3, 0, undefined]);
  expect(step.explain()).toMatch(/micro-batch that holds gradients, then one that closes a window/);
});

it('the number of micro-batches in a call may change with an argument', async () => {
  const trained = async (isCompiled: boolean) => {
    accelerator = await Accelerator.create({ gradientAccumulationSteps: 4 });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
    const plain = (x: tf.Tensor, count: number) => {
      for (let i = 0; i < count; i++)
        accelerator.accumulate(() => void optimizer.minimize(() => w.square().mul(x) as tf.Scalar));
    };
    const compiled = accelerator.compile(plain);
    const seen: number[] = [];
    for (let i = 0; i < 100; i++) {
      (isCompiled ? compiled : plain)(tf.scalar(Math.sin(i)), i % 3);
      seen.push(w.dataSync()[0]!);
    }
    accelerator.freeMemory();
    return { seen, replays: compiled.replays };
  };
  const [plain, compiled] = [await trained(false), await trained(true)];
  expect(compiled.seen).toEqual(plain.seen);
  expect(compiled.replays).toBeGreaterThan(10);
});

it('windows of one micro-batch inside of a step are replayed', async () => {
  accelerator = await Accelerator.create();
  const w = tf.variable(tf.scalar(1));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
  const step = accelerator.compile((x: tf.Tensor) => {
    accelerator.accumulate(() => void optimizer.minimize(() => w.mul(x) as tf.Scalar));
  });
  for (let i = 0; i < 6; i++) step(tf.scalar(i));
  expect(w.dataSync()[0]).toBeCloseTo(1 - 0.1 * (1 + 2 + 3 + 4 + 5), 6);
  expect(step.replays).toBe(3);
});

it('a step that calls noSync runs without replay, and states the reason', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  accelerator = await Accelerator.create();
  const step = accelerator.compile((x: tf.Tensor) => accelerator.noSync(() => x.mul(2)));
  for (let i = 0; i < 4; i++) expect(step(tf.scalar(i)).dataSync()[0]).toBe(2 * i);
  expect(step.replays).toBe(0);
  expect(step.reason).toMatch(/noSync/);
});
