import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { expectClose } from '@acc/testkit';
import { packedTensor } from '@acc/kernels';
import { liveTensors, observeCalls, tensorFrom } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import { DataLoader, DiLoCo, LocalSGD } from '../index.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());
const create = async (options: AcceleratorOptions) => {
  if (options.engine === 'tfjs') await tf.setBackend('cpu');
  return (accelerator = await Accelerator.create({ engine: 'acc', ...options }));
};

const MICRO_BATCH = 4;
const features = (rows: number) => tf.sin(tf.range(0, rows * 5)).reshape([rows, 5]) as tf.Tensor2D;
const labels = (rows: number) => tf.cos(tf.range(0, rows)).reshape([rows, 1]) as tf.Tensor2D;

function network(): tf.Sequential {
  const dense = (units: number, seed: number, more: object = {}) =>
    tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });
  return tf.sequential({
    layers: [dense(6, 1, { inputShape: [5], activation: 'tanh' }), dense(1, 2)],
  });
}

type Loop = 'custom' | 'fit' | 'fitDataset';

/** The weights after three epochs over `rows` rows. */
async function train(loop: Loop, rows: number, batchSize: number, options: AcceleratorOptions) {
  await create(options);
  const model = network();
  const [xs, ys] = [features(rows), labels(rows)];
  const adam = tf.train.adam(0.02);
  if (loop === 'custom') {
    const loader = new DataLoader({ xs, ys }, { batchSize, shuffle: true });
    const [, optimizer, data] = accelerator.prepare(model, adam, loader);
    for (let epoch = 0; epoch < 3; epoch++) {
      for await (const batch of data) {
        accelerator.accumulate(() =>
          optimizer.minimize(() =>
            tf.losses.meanSquaredError(batch.ys, model.predict(batch.xs) as tf.Tensor).asScalar(),
          ),
        );
        tf.dispose(batch);
      }
    }
  } else {
    model.compile({ optimizer: adam, loss: 'meanSquaredError' });
    accelerator.prepare(model);
    if (loop === 'fit') await model.fit(xs, ys, { batchSize, epochs: 3, verbose: 0 });
    else {
      const dataset = tf.data.zip({ xs: tf.data.array(rowsOf(xs)), ys: tf.data.array(rowsOf(ys)) });
      await model.fitDataset(dataset.batch(batchSize) as tf.data.Dataset<never>, { epochs: 3, verbose: 0 });
    }
  }
  const { iterations } = adam;
  const weights = model.getWeights().map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  return { weights, iterations };
}
const rowsOf = (x: tf.Tensor2D) => x.arraySync();

describe.each(['acc', 'tfjs'] as const)('micro-batches on %s', (engine) => {
  describe.each(['custom', 'fit', 'fitDataset'] as const)('by %s', (loop) => {
    it.each<[string, number]>([
      ['full windows', 24],
      ['a short last micro-batch', 23],
      ['a short last window', 19],
      ['a last window of one micro-batch', 14],
    ])('take the steps of large batches: %s', async (_, rows) => {
      const many = await train(loop, rows, MICRO_BATCH, { engine, gradientAccumulationSteps: 3 });
      const few = await train(loop, rows, 3 * MICRO_BATCH, { engine });
      expect(many.iterations).toBe(3 * Math.ceil(rows / (3 * MICRO_BATCH)));
      expect(few.iterations).toBe(many.iterations);
      many.weights.forEach((values, i) => expectClose(values, few.weights[i]!, { rtol: 1e-6, atol: 1e-6 }));
    });
  });
});

const square = (w: tf.Variable, x: number) => () => w.mul(x).square() as tf.Scalar;

describe('accumulate', () => {
  it('returns the result of fn, takes a step at the end of a window, and sets syncGradients', async () => {
    await create({ gradientAccumulationSteps: 3 });
    expect(accelerator).toMatchObject({ gradientAccumulationSteps: 3, syncGradients: true });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
    const seen: unknown[] = [];
    for (const x of [1, 2, 3, 0]) {
      const cost = accelerator.accumulate(() => optimizer.minimize(square(w, x), true)!);
      seen.push([cost.dataSync()[0], accelerator.syncGradients, w.dataSync()[0]]);
    }
    const after = 1 - (2 * (1 + 4 + 9)) / 3;
    expect(seen).toEqual([
      [1, false, 1],
      [4, false, 1],
      [9, true, Math.fround(after)],
      [0, false, Math.fround(after)],
    ]);
    accelerator.accumulate(() => optimizer.minimize(square(w, 0)), { last: true });
    expect(accelerator.syncGradients).toBe(true);
    expect(optimizer.iterations).toBe(2);
  });

  it('waits for a promise, and refuses a micro-batch inside another', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.25));
    const first = accelerator.accumulate(async () => {
      await Promise.resolve();
      optimizer.minimize(square(w, 1));
    });
    const nested = expect.objectContaining({ code: 'ACC_ACCUMULATE_NESTED' }) as Error;
    expect(() => accelerator.accumulate(() => 1)).toThrowError(nested);
    await first;
    expect(w.dataSync()[0]).toBe(1);
    accelerator.accumulate(() => optimizer.minimize(square(w, 1)));
    expect(w.dataSync()[0]).toBe(0.5);
  });

  it('separates several optimizers, also for the same variable', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const [a, b] = [tf.variable(tf.scalar(1)), tf.variable(tf.scalar(1))];
    const [, first, second] = accelerator.prepare([a, b], tf.train.sgd(0.5), tf.train.sgd(0.125));
    for (const x of [1, 2]) {
      accelerator.accumulate(() => {
        first.minimize(() => a.mul(x) as tf.Scalar, false, [a]);
        second.minimize(() => a.mul(8 * x) as tf.Scalar, false, [a]);
        first.minimize(() => b.mul(x) as tf.Scalar, false, [b]);
      });
    }
    expect(a.dataSync()[0]).toBe(1 - 0.5 * 1.5 - 0.125 * 12);
    expect(b.dataSync()[0]).toBe(1 - 0.5 * 1.5);
  });

  it('applies an accumulated gradient that the closing micro-batch does not have', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const [a, b] = [tf.variable(tf.scalar(1)), tf.variable(tf.scalar(1))];
    const [, optimizer] = accelerator.prepare([a, b], tf.train.sgd(1));
    accelerator.accumulate(() => optimizer.minimize(() => a.mul(3) as tf.Scalar, false, [a, b]));
    accelerator.accumulate(() => optimizer.minimize(() => b.mul(5) as tf.Scalar, false, [a, b]));
    expect([a, b].map((v) => v.dataSync()[0])).toEqual([1 - 1.5, 1 - 2.5]);
  });

  it('weights by the items that weighLoss states', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const w = tf.variable(tf.scalar(0));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
    const micro = (mean: number, items: number | tf.Tensor) =>
      accelerator.accumulate(() =>
        optimizer.minimize(() => accelerator.weighLoss(w.mul(mean) as tf.Scalar, items)),
      );
    micro(10, 3);
    micro(2, tf.scalar(5));
    expect(w.dataSync()[0]).toBeCloseTo(-(10 * 3 + 2 * 5) / 8, 6);
    micro(7, 0);
    micro(1, 4);
    expect(w.dataSync()[0]).toBeCloseTo(-6, 6);
    expect(() => micro(1, -1)).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }));
  });

  it('refuses to drop gradients of unprepared variables', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const optimizer = accelerator.prepare(tf.train.sgd(1));
    const w = tf.variable(tf.scalar(1));
    const step = () => optimizer.applyGradients(tf.variableGrads(square(w, 1), [w]).grads);
    expect(() => tf.tidy(() => accelerator.accumulate(step))).toThrowError(
      expect.objectContaining({ code: 'ACC_NOT_PREPARED' }),
    );
  });

  it.each(['acc', 'tfjs'] as const)('leaves no tensors behind on %s', async (engine) => {
    await create({ engine, gradientAccumulationSteps: 3, gradientClipping: { norm: 1, value: 0.5 } });
    const model = network();
    const [, optimizer] = accelerator.prepare(model, tf.train.adam(0.01));
    const [x, y] = [features(4), labels(4)];
    const window = () => {
      for (let i = 0; i < 3; i++) {
        accelerator.accumulate(() =>
          optimizer.minimize(() => tf.losses.meanSquaredError(y, model.apply(x) as tf.Tensor).asScalar()),
        );
      }
    };
    const count = () => [
      tf.memory().numTensors,
      tf.memory().numDataBuffers,
      engine === 'acc' && liveTensors(),
    ];
    window();
    const before = count();
    window();
    window();
    expect(count()).toEqual(before);
  });

  it('adds all variables with one call, in place', async () => {
    await create({ gradientAccumulationSteps: 4 });
    const model = network();
    const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.01));
    const [x, y] = [features(4), labels(4)];
    const names: string[] = [];
    for (let i = 0; i < 3; i++) {
      const end = observeCalls((name) => void (name.includes('foreach') && names.push(name)));
      accelerator.accumulate(() =>
        optimizer.minimize(() => tf.losses.meanSquaredError(y, model.apply(x) as tf.Tensor).asScalar()),
      );
      end();
    }
    expect(names).toEqual(['aten::_foreach_add_.List', 'aten::_foreach_add_.List']);
  });
});

it('fitDataset with batchesPerEpoch ends windows with epochs', async () => {
  await create({ gradientAccumulationSteps: 2 });
  const model = network();
  const optimizer = tf.train.sgd(0.01);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const dataset = tf.data
    .array(Array.from({ length: 20 }, () => ({ xs: features(2), ys: labels(2) })))
    .repeat() as tf.data.Dataset<never>;
  const iterations: number[] = [];
  const onBatchEnd = () => void iterations.push(optimizer.iterations);
  await model.fitDataset(dataset, { epochs: 2, batchesPerEpoch: 3, verbose: 0, callbacks: { onBatchEnd } });
  expect(iterations).toEqual([0, 1, 2, 2, 3, 4]);
});

it('a call of trainOnBatch inside accumulate is one micro-batch', async () => {
  await create({ gradientAccumulationSteps: 2 });
  const model = network();
  const optimizer = tf.train.sgd(0.01);
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const iterations: number[] = [];
  for (let i = 0; i < 4; i++) {
    await accelerator.accumulate(() => model.trainOnBatch(features(4), labels(4)));
    iterations.push(optimizer.iterations);
  }
  expect(iterations).toEqual([0, 1, 1, 2]);
});

it('fit with windows and clipping leaves no tensors behind', async () => {
  await create({ gradientAccumulationSteps: 2, gradientClipping: { norm: 0.1, value: 0.05 } });
  const model = network();
  model.compile({ optimizer: tf.train.adam(0.01), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const [x, y] = [features(10), labels(10)];
  const fit = () => model.fit(x, y, { batchSize: 4, epochs: 1, verbose: 0 });
  await fit();
  const count = () => [tf.memory().numTensors, tf.memory().numDataBuffers];
  const before = count();
  await fit();
  await fit();
  expect(count()).toEqual(before);
});

it('noSync leaves gradients local, and does not change accumulated ones', async () => {
  await create({ gradientAccumulationSteps: 2 });
  const w = tf.variable(tf.scalar(1));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.5));
  accelerator.accumulate(() => optimizer.minimize(square(w, 1)));
  const own = accelerator.noSync(() => {
    expect(accelerator.syncGradients).toBe(false);
    return tf.variableGrads(square(w, 3), [w]);
  });
  expect(own.grads[w.name]!.dataSync()[0]).toBe(18);
  accelerator.accumulate(() => optimizer.minimize(square(w, 2)));
  expect(w.dataSync()[0]).toBe(1 - 0.5 * 5);
});

it('backward returns gradients that are ready to be applied', async () => {
  await create({ gradientAccumulationSteps: 2, gradientClipping: { norm: 1 } });
  const w = tf.variable(tf.tensor1d([3, 4]));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
  const half = () => w.square().sum().div(2) as tf.Scalar;
  const grads: number[][] = [];
  for (let i = 0; i < 2; i++) {
    accelerator.accumulate(() => {
      const result = accelerator.backward(half);
      grads.push([...result.grads[w.name]!.dataSync()]);
      optimizer.applyGradients(result.grads);
    });
  }
  expect(grads[0]).toEqual([3, 4]);
  expectClose(grads[1]!, [0.6, 0.8], { rtol: 1e-6 });
  expectClose([...w.dataSync()], [2.4, 3.2], { rtol: 1e-6 });
  expect(accelerator.gradientNorm).toBeCloseTo(5, 6);
});

describe('a loop over other data inside the training loop', () => {
  const stepsOf = async (evaluates: boolean) => {
    await create({ gradientAccumulationSteps: 4 });
    const w = tf.variable(tf.zeros([1]));
    const samples = (count: number) => Array.from({ length: count }, (_, x) => ({ x }));
    const [, optimizer, training, held] = accelerator.prepare(
      [w],
      tf.train.sgd(1),
      new DataLoader(samples(10), { batchSize: 4 }),
      new DataLoader(samples(4), { batchSize: 2 }),
    );
    for await (const { x } of training) {
      if (evaluates) for await (const batch of held) tf.dispose(batch);
      accelerator.accumulate(() => optimizer.minimize(() => tf.mean(tf.mul(w, x)), false, [w]));
      tf.dispose(x);
    }
    const result = [optimizer.iterations, ...w.dataSync()];
    accelerator.freeMemory();
    return result;
  };

  it('does not change the batch and the end of its window', async () => {
    expect(await stepsOf(true)).toEqual(await stepsOf(false));
    expect(await stepsOf(true)).toEqual([1, -4.5]);
  });
});

describe('unprepared variables', () => {
  const notPrepared = expect.objectContaining({ code: 'ACC_NOT_PREPARED' });

  it('are refused by accumulate if nothing is prepared', async () => {
    await create({ gradientAccumulationSteps: 2 });
    const optimizer = accelerator.prepare(tf.train.sgd(0.1));
    const model = network();
    const loss = (): tf.Scalar => tf.mean(model.predict(features(2)) as tf.Tensor);
    const step = () => tf.tidy(() => optimizer.applyGradients(tf.variableGrads(loss).grads));
    expect(() => accelerator.accumulate(step)).toThrowError(notPrepared);
    accelerator.prepare(model);
    expect(() => accelerator.accumulate(step)).not.toThrow();
  });

  it('are refused by name if ranks train independently', async () => {
    await create({});
    const prepared = accelerator.prepare(network());
    expect(() => new LocalSGD(accelerator, network())).toThrowError(notPrepared);
    expect(() => new DiLoCo(accelerator, network())).toThrowError(notPrepared);
    new LocalSGD(accelerator, prepared).end();
  });
});

it('LocalSGD and DiLoCo leave packed variables as they are', async () => {
  await create({});
  const prepared = accelerator.prepare(network());
  const unpack = vi.fn(() => tensorFrom(new Float32Array(4), 'float32', [2, 2]));
  const packed = tf.variable(
    packedTensor({ tensors: [], shape: [2, 2], records: {} as never, dynamic: false, unpack }),
    false,
  );
  const assign = vi.spyOn(packed, 'assign');
  const variables = [...prepared.trainableWeights.map((weight) => weight.read() as tf.Variable), packed];
  for (const steps of [
    new LocalSGD(accelerator, variables, { localSgdSteps: 1 }),
    new DiLoCo(accelerator, variables, { innerSteps: 1 }),
  ]) {
    steps.step();
    steps.end();
  }
  expect(assign).not.toHaveBeenCalled();
  expect(unpack).not.toHaveBeenCalled();
  packed.dispose();
});
