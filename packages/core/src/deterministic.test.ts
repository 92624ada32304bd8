import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { liveTensors, numThreads } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { Accelerator, DataLoader, DiLoCo, LocalSGD, type AcceleratorOptions } from './index.js';

let accelerator: Accelerator;

async function create(options: AcceleratorOptions = {}): Promise<Accelerator> {
  accelerator = await Accelerator.create({ deterministic: true, dataLoader: { shuffle: false }, ...options });
  return accelerator;
}

afterEach(() => accelerator.freeMemory());

const withCode = (code: string) => expect.objectContaining({ code }) as Error;
const data = (rows = 16) => ({
  xs: tf.tidy(() => tf.sin(tf.range(0, rows * 6)).reshape([rows, 6])),
  ys: tf.tidy(() => tf.cos(tf.range(0, rows)).reshape([rows, 1])),
});

type Loss = (xs: tf.Tensor, ys: tf.Tensor, w: tf.Variable) => tf.Tensor;

/** Trains one weight on batches of 8 rows. */
async function train(loss: Loss, batchSize = 8): Promise<number[]> {
  const w = tf.variable(tf.tensor2d([0.1, 0.2, 0.3, -0.1, -0.2, -0.3], [6, 1]));
  const [, optimizer, loader] = accelerator.prepare(
    [w],
    tf.train.sgd(0.1),
    new DataLoader(data(), { batchSize }),
  );
  for await (const { xs, ys } of loader) {
    optimizer.minimize(() => loss(xs, ys, w) as tf.Scalar);
    tf.dispose([xs, ys]);
  }
  return Array.from(w.dataSync());
}

const squared: Loss = (xs, ys, w) =>
  xs
    .matMul(w as tf.Tensor)
    .sub(ys)
    .square()
    .mean();

describe('deterministic training', () => {
  it('gives the weights of ordinary training, except for rounding', async () => {
    await create({ deterministic: false });
    const plain = await train(squared);
    accelerator.freeMemory();
    await create();
    const weights = await train(squared);
    expectClose(weights, plain, { rtol: 1e-5, atol: 1e-6 });
  });

  it('takes no step on another backend, and continues when its own is active again', async () => {
    await create({ engine: 'acc' });
    const expected = await train(squared);
    accelerator.freeMemory();
    await create({ engine: 'acc' });
    const w = tf.variable(tf.ones([6, 1]));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
    const { warn } = console;
    console.warn = () => {};
    await tf.setBackend('cpu');
    expect(() => optimizer.minimize(() => w.square().sum() as tf.Scalar)).toThrowError(
      withCode('ACC_DETERMINISTIC_BACKEND'),
    );
    console.warn = warn;
    await tf.setBackend('acc');
    expect(await train(squared)).toEqual(expected);
  });

  it('with different numbers of virtual shards differs in rounding only', async () => {
    await create({ deterministic: { virtualShards: 1 } });
    const one = await train(squared);
    accelerator.freeMemory();
    await create({ deterministic: { virtualShards: 8 } });
    expectClose(await train(squared), one, { rtol: 1e-5, atol: 1e-6 });
  });

  it('separates metrics of this rank’s rows from the loss', async () => {
    await create();
    const spreads: number[] = [];
    const spread = (xs: tf.Tensor) => xs.sub(xs.mean(0)).square().mean().sqrt().dataSync()[0]!;
    await train((xs, ys, w) => {
      spreads.push(spread(xs));
      return squared(xs, ys, w);
    });
    const { xs } = data();
    const expected = [spread(xs.slice(0, 8)), spread(xs.slice(8, 8))];
    expectClose(spreads, expected, { rtol: 1e-5, atol: 1e-6 });
  });

  it('leaves nothing behind after its steps, and restores the backend', async () => {
    const threads = numThreads();
    const kernel = tf.getKernel('Add', tf.getBackend());
    await create({ gradientAccumulationSteps: 2 });
    expect(numThreads()).toBe(1);
    const model = tf.sequential({
      layers: [
        tf.layers.dense({ inputShape: [6], units: 5 }),
        tf.layers.batchNormalization(),
        tf.layers.dropout({ rate: 0.5 }),
        tf.layers.dense({ units: 1 }),
      ],
    });
    const [prepared, optimizer, loader] = accelerator.prepare(
      model,
      tf.train.adam(),
      new DataLoader(data(), { batchSize: 8 }),
    );
    const counts: number[][] = [];
    for (let epoch = 0; epoch < 4; epoch++) {
      for await (const { xs, ys } of loader) {
        const loss = () =>
          tf.losses.meanSquaredError(ys, prepared.apply(xs, { training: true }) as tf.Tensor).asScalar();
        accelerator.accumulate(() => optimizer.minimize(loss));
        tf.dispose([xs, ys]);
      }
      counts.push([tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()]);
    }
    expect(counts[3]).toEqual(counts[1]);
    accelerator.freeMemory();
    expect(numThreads()).toBe(threads);
    if (kernel) expect(tf.getKernel('Add', tf.getBackend())).toBe(kernel);
  });

  it('runs compiled steps without replay, and states the reason', async () => {
    await create();
    const w = tf.variable(tf.ones([6, 1]));
    const [, optimizer, loader] = accelerator.prepare(
      [w],
      tf.train.sgd(0.1),
      new DataLoader(data(), { batchSize: 8 }),
    );
    const step = accelerator.compile((xs: tf.Tensor, ys: tf.Tensor) => {
      optimizer.minimize(() => squared(xs, ys, w) as tf.Scalar);
    });
    for (let epoch = 0; epoch < 3; epoch++) for await (const { xs, ys } of loader) step(xs, ys);
    expect(step.replays).toBe(0);
    expect(step.reason).toContain('deterministic');
  });
});

describe('deterministic training refuses results that depend on the number of ranks', () => {
  const REFUSED: Readonly<Record<string, Loss>> = {
    'statistics of the batch': (xs, ys, w) => squared(xs.sub(xs.mean(0)), ys, w),
    'a non-linear function of a sum over rows': (xs, ys, w) => squared(xs, ys, w).sqrt(),
    'rows beside other samples': (xs, ys, w) => squared(xs, ys, w).add(xs.matMul(xs, false, true).mean()),
    'some of the rows': (xs, ys, w) => squared(xs.slice(0, 4), ys.slice(0, 4), w),
    'a sort of all rows': (xs, ys, w) => squared(xs, ys, w).add(xs.matMul(w as tf.Tensor).max()),
  };

  it.each(Object.entries(REFUSED))('%s', async (_, loss) => {
    await create();
    await expect(train(loss)).rejects.toThrowError(withCode('ACC_DETERMINISTIC_RANKS'));
  });

  it('a loss that is not computed from prepared data', async () => {
    await create();
    const w = tf.variable(tf.ones([3]));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
    const step = () => optimizer.minimize(() => w.square().sum() as tf.Scalar);
    expect(step).toThrowError(withCode('ACC_DETERMINISTIC_DATA'));
  });

  it('batches that cannot be divided into virtual shards', async () => {
    await create();
    await expect(train(squared, 6)).rejects.toThrowError(withCode('ACC_DETERMINISTIC_ROWS'));
    const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [6], units: 1 })] });
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    const { xs, ys } = data(18);
    const fit = accelerator.prepare(model).fit(xs, ys, { batchSize: 8 });
    await expect(fit).rejects.toThrowError(withCode('ACC_DETERMINISTIC_ROWS'));
  });

  it('means over items other than rows', async () => {
    await create();
    const weighed: Loss = (xs, ys, w) => accelerator.weighLoss(squared(xs, ys, w), 3);
    await expect(train(weighed)).rejects.toThrowError(withCode('ACC_DETERMINISTIC_UNSUPPORTED'));
  });

  it('ranks that train independently', async () => {
    await create();
    const w = tf.variable(tf.ones([3]));
    accelerator.prepare([w]);
    const unsupported = withCode('ACC_DETERMINISTIC_UNSUPPORTED');
    expect(() => new LocalSGD(accelerator, [w])).toThrowError(unsupported);
    expect(() => new DiLoCo(accelerator, [w])).toThrowError(unsupported);
    await expect(accelerator.joinUnevenInputs(() => {})).rejects.toThrowError(unsupported);
  });

  it.each([
    [{ ddp: { commHook: 'bf16' } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
    [{ ddp: { syncAt: 'apply' } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
    [{ ddp: { batchNorm: 'local' } }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
    [{ strategy: 'single' }, 'ACC_DETERMINISTIC_UNSUPPORTED'],
    [{ deterministic: { virtualShards: 3 } }, 'ACC_INVALID_OPTION'],
    [{ deterministic: { shards: 4 } }, 'ACC_UNKNOWN_OPTION'],
  ] as [AcceleratorOptions, string][])('the options %o', async (options, code) => {
    await expect(create(options)).rejects.toThrowError(withCode(code));
  });
});
