import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { DataLoader, gradientNoiseScale, LRScheduler } from '../index.js';

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

it('inside windows a compiled step runs without replay, and states the reason', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  accelerator = await Accelerator.create({ gradientAccumulationSteps: 3 });
  const w = tf.variable(tf.scalar(1));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
  const step = accelerator.compile((x: tf.Tensor) => optimizer.minimize(() => w.mul(x) as tf.Scalar, true)!);
  for (let i = 0; i < 9; i++) accelerator.accumulate(() => step(tf.scalar(i)));
  expect(w.dataSync()[0]).toBeCloseTo(1 - 0.1 * (1 + 4 + 7), 6);
  expect(step.replays).toBe(0);
  expect(step.reason).toMatch(/window/);
});

it('a step that runs a whole window itself runs without replay, and states the reason', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  accelerator = await Accelerator.create({ gradientAccumulationSteps: 2 });
  const w = tf.variable(tf.scalar(1));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
  const step = accelerator.compile((...xs: tf.Tensor[]) => {
    for (const x of xs) {
      accelerator.accumulate(() => void optimizer.minimize(() => w.mul(x) as tf.Scalar));
    }
  });
  for (let i = 0; i < 6; i++) step(tf.scalar(i), tf.scalar(i + 2));
  // The gradients of a window have the mean i + 1.
  expect(w.dataSync()[0]).toBeCloseTo(1 - 0.1 * (1 + 2 + 3 + 4 + 5 + 6), 6);
  expect([step.replays, step.failedReplays]).toEqual([0, 0]);
  expect(step.reason).toMatch(/window/);
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
