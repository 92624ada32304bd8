import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Accelerator } from './accelerator.js';
import { DataLoader } from './index.js';
import type { AcceleratorOptions } from './options.js';

// Only one process. tests/e2e proves the behaviour of several.
let accelerator: Accelerator;
const create = async (options: AcceleratorOptions = {}) => (accelerator = await Accelerator.create(options));

beforeEach(() => create());
afterEach(() => accelerator.freeMemory());

const dense = () =>
  tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones' })] });

describe('prepare', () => {
  it('returns the same objects in order: one for one argument, a list for several', () => {
    const model = dense();
    const optimizer = tf.train.sgd(0.1);
    const variables = [tf.variable(tf.scalar(1))];
    expect(accelerator.prepare(model)).toBe(model);
    const [a, b, c] = accelerator.prepare(model, optimizer, variables);
    expect([a, b, c]).toEqual([model, optimizer, variables]);
    expect(a).toBe(model);
    expect(b).toBe(optimizer);
  });

  it('makes data async-iterable', async () => {
    const data = accelerator.prepare({ xs: tf.range(0, 40), ys: tf.range(40, 80) });
    const sizes: number[] = [];
    for await (const { xs, ys } of data) {
      sizes.push(xs.shape[0]!);
      expect(ys.sub(xs).min().dataSync()[0]).toBe(40);
      tf.dispose([xs, ys]);
    }
    expect(sizes).toEqual([32, 8]);
  });

  it('leaves the tensors that a visitor of forEachAsync returns, as tfjs does', async () => {
    const kept: tf.Tensor[] = [];
    const rows = tf.data.array([[1], [2]]).map((row) => tf.tensor1d(row as number[]));
    await rows.forEachAsync((row) => {
      kept.push(row);
      return row;
    });
    expect(kept.map(({ isDisposed }) => isDisposed)).toEqual([false, false]);
  });

  it.each<[string, () => object]>([
    ['a loader', () => new DataLoader([1, 2], { batchSize: 1 })],
    ['a dataset', () => tf.data.array([1, 2])],
    ['batches', () => [tf.ones([2]), tf.ones([2])]],
    ['columns', () => ({ xs: tf.ones([2]), ys: tf.ones([2]) })],
  ])('returns prepared data unchanged: %s', (_, make) => {
    const data = accelerator.prepare(make());
    expect(accelerator.prepare(data)).toBe(data);
  });

  it.each<[string, unknown]>([
    ['a number', 3],
    ['a plain object', { learningRate: 0.1 }],
    ['undefined', undefined],
    ['null', null],
    ['an empty array', []],
    ['a function', () => 1],
  ])('refuses %s', (_, object) => {
    expect(() => accelerator.prepare(object)).toThrowError(
      expect.objectContaining({ code: 'ACC_CANNOT_PREPARE' }),
    );
  });

  it('refuses to prepare nothing', () => {
    expect(() => accelerator.prepare()).toThrowError(
      expect.objectContaining({
        code: 'ACC_CANNOT_PREPARE',
        message: expect.stringContaining('without arguments') as unknown,
      }),
    );
  });

  it('names the row counts of tensors that do not fit together', () => {
    const [xs, ys] = [tf.zeros([40, 2]), tf.zeros([39])];
    for (const data of [{ xs, ys }, { xs: { left: xs, right: ys } }, [xs, ys], { xs, ys: tf.scalar(1) }]) {
      expect(() => accelerator.prepare(data)).toThrowError(
        expect.objectContaining({
          code: 'ACC_CANNOT_PREPARE',
          message: expect.stringMatching(/'(xs|0)' has 40 rows, '(xs|ys|1)' has (39|no) rows/) as unknown,
        }),
      );
    }
    const batch = new (class Batch {
      xs = xs;
    })();
    for (const other of [{ w: tf.variable(xs), b: tf.variable(ys) }, xs, batch]) {
      expect(() => accelerator.prepare(other)).toThrowError(
        expect.objectContaining({ help: expect.stringContaining('LRScheduler') as unknown }),
      );
    }
  });

  it('allows a prepared model to be compiled again, and trains it', async () => {
    const model = accelerator.prepare(dense());
    for (const optimizer of ['sgd', 'adam'] as const) {
      model.compile({ optimizer, loss: 'meanSquaredError' });
      const before = [...model.getWeights()[0]!.dataSync()];
      await model.fit(tf.ones([8, 2]), tf.zeros([8, 1]), { epochs: 1 });
      expect([...model.getWeights()[0]!.dataSync()]).not.toEqual(before);
    }
  });

  it('is undone by freeMemory', () => {
    const model = dense();
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    const { compile } = model;
    const gradients = tf.engine().gradients;
    accelerator.prepare(model);
    expect(model.compile).not.toBe(compile);
    accelerator.freeMemory();
    expect(model.compile).toBe(compile);
    expect(tf.engine().gradients).not.toBe(gradients);
  });
});

describe('plugins', () => {
  it('claim objects, change gradients and are told of steps', async () => {
    accelerator.freeMemory();
    const seen: number[] = [];
    await create({
      plugins: [
        {
          name: 'halve',
          claim: (object) => (object === 'mine' ? 'claimed' : undefined),
          transform(grads) {
            for (const name of Object.keys(grads)) {
              const halved = grads[name]!.div(2);
              grads[name]!.dispose();
              grads[name] = halved;
            }
          },
          afterStep: ({ step }) => void seen.push(step),
        },
      ],
    });
    expect(accelerator.prepare('mine')).toBe('claimed');
    const w = tf.variable(tf.scalar(4));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
    for (let i = 0; i < 2; i++) optimizer.minimize(() => w.square() as tf.Scalar);
    // w -= (2 w) / 2 gives 0.
    expect(w.dataSync()[0]).toBe(0);
    expect(seen).toEqual([0, 1]);
  });
});

it('a member of an Accelerator that is read from the promise of one asks for await', async () => {
  accelerator.freeMemory();
  const promise = Accelerator.create();
  const unawaited = promise as unknown as Accelerator;
  const reads = [() => unawaited.prepare, () => unawaited.processIndex];
  for (const read of reads) expect(read).toThrow(expect.objectContaining({ code: 'ACC_NOT_CREATED' }));
  accelerator = await promise;
  expect(accelerator.processIndex).toBe(0);
});

it('a second Accelerator is an error until the first is freed', async () => {
  await expect(Accelerator.create()).rejects.toMatchObject({ code: 'ACC_ALREADY_CREATED' });
  accelerator.freeMemory();
  await create();
});

it('an unavailable device is an error', async () => {
  accelerator.freeMemory();
  await expect(Accelerator.create({ device: 'cuda' })).rejects.toMatchObject({
    code: 'ACC_DEVICE_UNAVAILABLE',
  });
});

it("a device that the engine 'tfjs' does not have is an error", async () => {
  accelerator.freeMemory();
  await tf.setBackend('cpu');
  await expect(Accelerator.create({ engine: 'tfjs', device: 'cuda' })).rejects.toMatchObject({
    code: 'ACC_DEVICE_UNAVAILABLE',
  });
  await create({ engine: 'tfjs', device: 'cpu' });
  expect([accelerator.backendName, accelerator.device]).toEqual(['cpu', 'cpu']);
  await tf.setBackend('acc');
});

describe('one process', () => {
  it('is main process, last process and alone', () => {
    expect(accelerator).toMatchObject({
      numProcesses: 1,
      processIndex: 0,
      localProcessIndex: 0,
      localNumProcesses: 1,
      isMainProcess: true,
      isLocalMainProcess: true,
      isLastProcess: true,
      backendName: 'acc',
      device: 'cpu',
    });
    expect(accelerator.onMainProcess((x: number) => x + 1)(1)).toBe(2);
    expect(accelerator.onProcess(1, () => 1)()).toBeUndefined();
    expect(accelerator.accumulate(() => 5)).toBe(5);
  });

  it('keeps tensors and native memory constant over 1,000 steps', () => {
    const w = tf.variable(tf.randomNormal([16, 16]));
    const [, optimizer] = accelerator.prepare([w], tf.train.adam(0.01));
    const x = tf.ones([4, 16]);
    const step = () =>
      optimizer.minimize(
        () =>
          tf
            .matMul(x, w as tf.Tensor2D)
            .relu()
            .square()
            .mean() as tf.Scalar,
      );
    for (let i = 0; i < 10; i++) step();
    const count = () => {
      const { numTensors, numDataBuffers, allocatedBytes } = tf.memory() as tf.MemoryInfo & {
        allocatedBytes: number;
      };
      return { numTensors, numDataBuffers, allocatedBytes };
    };
    const before = count();
    for (let i = 0; i < 1000; i++) step();
    expect(count()).toEqual(before);
  });
});
