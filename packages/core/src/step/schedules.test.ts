import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { ddp } from '@acc/ddp';
import { Accelerator } from '../accelerator.js';
import { DataLoader, findExecutableBatchSize, gradientNoiseScale, LRScheduler } from '../index.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());
const create = async (options: AcceleratorOptions = {}) =>
  (accelerator = await Accelerator.create({ seed: 1, ...options }));

/** A schedule whose rate equals the number of steps or samples. */
const counting = (optimizer: tf.Optimizer, unit: 'steps' | 'samples' = 'steps') =>
  LRScheduler.linear(optimizer, { totalSteps: 1_000, warmupSteps: 999, unit });

describe('a prepared schedule', () => {
  it('advances only with the optimizer, in windows', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const w = tf.variable(tf.scalar(0));
    const optimizer = tf.train.adam(999);
    const [, , scheduler] = accelerator.prepare([w], optimizer, counting(optimizer));
    const rates: number[] = [];
    for (let i = 0; i < 5; i++) {
      accelerator.accumulate(() => {
        optimizer.minimize(() => w.square() as tf.Scalar);
        scheduler.step();
        scheduler.step();
      });
      rates.push(Math.round(scheduler.learningRate));
    }
    expect(rates).toEqual([0, 1, 1, 2, 2]);
  });

  it('does not advance if a step is skipped', async () => {
    const skip = { name: 'skip', settle: () => false };
    await create({ plugins: [skip] });
    const w = tf.variable(tf.scalar(0));
    const optimizer = tf.train.sgd(999);
    const [, , scheduler] = accelerator.prepare([w], optimizer, counting(optimizer));
    optimizer.minimize(() => w.square() as tf.Scalar);
    scheduler.step();
    expect(scheduler.getState()).toEqual({ count: 0 });
  });

  it('follows its own optimizer if there are several', async () => {
    await create();
    const w = tf.variable(tf.scalar(0));
    const [a, b] = [tf.train.adam(999), tf.train.adam(999)];
    const [, , , ofA, ofB] = accelerator.prepare([w], a, b, counting(a), counting(b));
    for (const optimizer of [a, b, a]) {
      optimizer.minimize(() => w.square() as tf.Scalar);
      ofA.step();
      ofB.step();
    }
    expect([ofA.getState(), ofB.getState()]).toEqual([{ count: 2 }, { count: 1 }]);
  });

  it.each(['steps', 'samples'] as const)('advances automatically in fit, with %s', async (unit) => {
    await create({ gradientAccumulationSteps: 2 });
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
    const optimizer = tf.train.sgd(0.1);
    model.compile({ optimizer, loss: 'meanSquaredError' });
    const [, scheduler] = accelerator.prepare(model, counting(optimizer, unit));
    const counts: number[] = [];
    const onBatchEnd = () => void counts.push(scheduler.getState().count);
    await model.fit(tf.ones([11, 2]), tf.ones([11, 1]), {
      batchSize: 4,
      epochs: 2,
      verbose: 0,
      callbacks: { onBatchEnd },
    });
    expect(counts).toEqual(unit === 'steps' ? [0, 1, 2, 2, 3, 4] : [0, 8, 11, 11, 19, 22]);
  });

  it('counts the samples of prepared data', async () => {
    await create();
    const w = tf.variable(tf.ones([1]));
    const optimizer = tf.train.sgd(0.1);
    const loader = new DataLoader(tf.ones([7, 1]), { batchSize: 3 });
    const [, , data, scheduler] = accelerator.prepare([w], optimizer, loader, counting(optimizer, 'samples'));
    const counts: number[] = [];
    for await (const x of data) {
      optimizer.minimize(() => x.mul(w).mean() as tf.Scalar);
      scheduler.step();
      counts.push(scheduler.getState().count);
    }
    expect(counts).toEqual([3, 6, 7]);
    const inOwnLoop = () => optimizer.minimize(() => w.mean() as tf.Scalar);
    expect(inOwnLoop).toThrowError(expect.objectContaining({ code: 'ACC_SCHEDULE_SAMPLES' }));
  });

  it('reports that its optimizer was not prepared', async () => {
    await create();
    const w = tf.variable(tf.scalar(0));
    const optimizer = tf.train.sgd(0.1);
    const scheduler = accelerator.prepare(counting(optimizer));
    optimizer.minimize(() => w.square() as tf.Scalar, false, [w]);
    expect(() => scheduler.step()).toThrowError(expect.objectContaining({ code: 'ACC_SCHEDULE_OPTIMIZER' }));
  });
});

describe('the gradient noise scale', () => {
  it('is tr(Σ) / |G|² of gradients with known noise', async () => {
    const noiseScale = gradientNoiseScale({ decay: 0.999, batchSize: 5 });
    await create({ plugins: [noiseScale], gradientAccumulationSteps: 4, gradientClipping: { norm: 0.1 } });
    // The gradient of mean(x · w) is the mean of x: G = 0.5 in each of 20 places, Σ = 4 · I.
    const w = tf.variable(tf.zeros([20]));
    const x = tf.randomNormal([6_000, 20], 0.5, 2, 'float32', 3);
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
    expect(noiseScale.criticalBatchSize).toBeUndefined();
    for (let start = 0; start < 6_000; start += 5) {
      const loss = () => x.slice(start, 5).mul(w).sum(1).mean() as tf.Scalar;
      accelerator.accumulate(() => optimizer.minimize(loss));
    }
    const expected = (20 * 4) / (20 * 0.25);
    expect(noiseScale.criticalBatchSize).toBeGreaterThan(expected * 0.85);
    expect(noiseScale.criticalBatchSize).toBeLessThan(expected * 1.15);
    const other = gradientNoiseScale();
    other.setState(noiseScale.getState());
    expect(other.criticalBatchSize).toBe(noiseScale.criticalBatchSize);
  });

  describe('of one window', () => {
    /** The estimate after one window. Each variable is trained by its own optimizer. */
    const estimate = async (count: number, options: AcceleratorOptions = {}) => {
      const noiseScale = gradientNoiseScale({ decay: 0, batchSize: 5 });
      const before = tf.memory().numTensors;
      await create({ ...options, plugins: [noiseScale], gradientAccumulationSteps: 4 });
      const variables = tf.tidy(() => [20, 30].map((size) => tf.variable(tf.zeros([size]))));
      const optimizers = variables.map(() => accelerator.prepare(tf.train.sgd(0.1)));
      accelerator.prepare(variables);
      for (let i = 0; i < 4; i++) {
        accelerator.accumulate(() => {
          // The last optimizer always takes part, because the assertion concerns what it leaves.
          for (const k of [0, 1].slice(2 - count)) {
            const w = variables[k]!;
            tf.tidy(() => {
              const x = tf.randomNormal([5, w.size], 0.5, 2, 'float32', 10 * i + k);
              const loss = () => x.mul(w).sum(1).mean() as tf.Scalar;
              optimizers[k]!.minimize(loss, false, [w]);
            });
          }
        });
      }
      accelerator.freeMemory();
      tf.dispose(variables);
      for (const optimizer of optimizers) optimizer.dispose();
      expect(tf.memory().numTensors).toBe(before);
      return noiseScale.getState();
    };

    it('an optimizer does not use the passes of another', async () => {
      expect(await estimate(2)).toEqual(await estimate(1));
    });

    it('is the same if gradients are reduced when they are applied', async () => {
      const late = await estimate(1, { strategy: ddp({ syncAt: 'apply' }) });
      const soon = await estimate(1);
      expect(late.noise).toBeCloseTo(soon.noise, 4);
      expect(late.gradientSquared).toBeCloseTo(soon.gradientSquared, 4);
    });

    it('is the same with a loss scale', async () => {
      expect(await estimate(1, { mixedPrecision: 'fp16' })).toEqual(await estimate(1));
    });
  });

  it('frees the rest of a window when memory is freed', async () => {
    await create({ plugins: [gradientNoiseScale({ batchSize: 1 })], gradientAccumulationSteps: 2 });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
    const before = tf.memory().numTensors;
    tf.tidy(() => accelerator.accumulate(() => void optimizer.minimize(() => w.square() as tf.Scalar)));
    expect(tf.memory().numTensors).toBeGreaterThan(before);
    accelerator.freeMemory();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('needs the size of batches', async () => {
    await create({ plugins: [gradientNoiseScale()] });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
    const step = () => optimizer.minimize(() => w.square() as tf.Scalar);
    expect(step).toThrowError(expect.objectContaining({ code: 'ACC_NOISE_SAMPLES' }));
    expect(() => gradientNoiseScale({ decay: 1 })).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
    );
  });
});

describe('findExecutableBatchSize', () => {
  const train = (batchSize: number) => {
    const w = tf.variable(tf.ones([4]));
    const [, optimizer] = accelerator.prepare([w], tf.train.adam(0.1));
    for (let i = 0; i < 5; i++) {
      accelerator.accumulate(() =>
        optimizer.minimize(() => {
          // Requests 2 TiB a sample in an open window.
          if (batchSize > 2 && i === 3) tf.fill([batchSize, 2 ** 39], 0);
          return w.square().sum() as tf.Scalar;
        }),
      );
    }
    return [batchSize, optimizer.iterations, ...w.dataSync().slice(0, 1)];
  };

  it('discards the windows of failed attempts', async () => {
    await create({ gradientAccumulationSteps: 2, gradientClipping: { norm: 1 } });
    const direct = train(1);
    accelerator.freeMemory();
    await create({ gradientAccumulationSteps: 2, gradientClipping: { norm: 1 } });
    const before = tf.memory().numTensors;
    const failing = findExecutableBatchSize(
      (batchSize) => {
        train(batchSize * 4);
      },
      { startingBatchSize: 4 },
    );
    await expect(failing).rejects.toMatchObject({ code: 'ACC_NO_BATCH_SIZE' });
    expect(tf.memory().numTensors).toBe(before);
    const found = await findExecutableBatchSize(train, { startingBatchSize: 8 });
    expect(found).toEqual([2, ...direct.slice(1)]);
  });

  it('frees an Accelerator that a failed attempt created', async () => {
    await create();
    accelerator.freeMemory();
    const found = await findExecutableBatchSize(
      async (batchSize) => {
        await create({ gradientAccumulationSteps: 2 });
        return train(batchSize)[0];
      },
      { startingBatchSize: 8 },
    );
    expect(found).toBe(2);
  });
});
