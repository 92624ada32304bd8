import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { liveTensors, memoryStats, resetPeakMemory, setSeed } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

const create = async (options: AcceleratorOptions) =>
  (accelerator = await Accelerator.create({ engine: 'acc', ...options }));

const wave = (shape: number[], step = 1.7): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(step)).reshape(shape));

let seed = 0;
const kernelInitializer = () => tf.initializers.glorotNormal({ seed: ++seed });
const recurrent = () => ({
  kernelInitializer: kernelInitializer(),
  recurrentInitializer: kernelInitializer(),
});
const dense = (units: number, rest: object = {}) =>
  tf.layers.dense({ units, activation: 'tanh', kernelInitializer: kernelInitializer(), ...rest });

const MODELS: Readonly<Record<string, () => tf.LayersModel>> = {
  'a chain with dropout and batch normalisation': () =>
    tf.sequential({
      layers: [
        dense(16, { inputShape: [8] }),
        tf.layers.batchNormalization(),
        tf.layers.dropout({ rate: 0.3 }),
        dense(16, { activation: 'relu' }),
        tf.layers.batchNormalization(),
        dense(16),
        dense(3),
      ],
    }),
  convolutions: () =>
    tf.sequential({
      layers: [
        tf.layers.reshape({ targetShape: [2, 2, 2], inputShape: [8] }),
        tf.layers.conv2d({
          filters: 4,
          kernelSize: 2,
          padding: 'same',
          kernelInitializer: kernelInitializer(),
        }),
        tf.layers.batchNormalization(),
        tf.layers.reLU(),
        tf.layers.maxPooling2d({ poolSize: 2 }),
        tf.layers.flatten(),
        dense(3),
      ],
    }),
  'branches and a layer with two places': () => {
    const input = tf.input({ shape: [8] });
    const shared = dense(8);
    const first = shared.apply(input) as tf.SymbolicTensor;
    const left = dense(8).apply(first) as tf.SymbolicTensor;
    const right = shared.apply(dense(8).apply(first)) as tf.SymbolicTensor;
    const sum = tf.layers.add().apply([left, right, first]) as tf.SymbolicTensor;
    const joined = tf.layers.concatenate().apply([sum, first]) as tf.SymbolicTensor;
    return tf.model({ inputs: input, outputs: dense(3).apply(dense(8).apply(joined)) as tf.SymbolicTensor });
  },
  'recurrent layers, one with a state': () =>
    tf.sequential({
      layers: [
        tf.layers.reshape({ targetShape: [4, 2], batchInputShape: [6, 8] }),
        tf.layers.lstm({ units: 5, returnSequences: true, ...recurrent() }),
        tf.layers.gru({ units: 5, returnSequences: true, stateful: true, ...recurrent() }),
        tf.layers.layerNormalization(),
        tf.layers.flatten(),
        dense(3),
      ],
    }),
};

interface Trained {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
}

/** A few steps of a loop of one's own, or of `fit`. */
async function train(
  make: () => tf.LayersModel,
  options: AcceleratorOptions,
  byFit: boolean,
): Promise<Trained> {
  seed = 0;
  await create(options);
  const model = make();
  const [x, y] = [wave([6, 8]), tf.tidy(() => tf.softmax(wave([6, 3], 0.7)))];
  const losses: number[] = [];
  setSeed(5);
  if (byFit) {
    model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
    accelerator.prepare(model);
    const { history } = await model.fit(x, y, { batchSize: 6, epochs: 4, verbose: 0, shuffle: false });
    losses.push(...(history.loss as number[]));
  } else {
    const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
    const step = () =>
      optimizer.minimize(
        () => tf.losses.meanSquaredError(y, model.apply(x, { training: true }) as tf.Tensor) as tf.Scalar,
        true,
      )!;
    const take = () => {
      const loss = tf.tidy(step);
      losses.push(loss.dataSync()[0]!);
      loss.dispose();
    };
    take();
    const before = [tf.memory().numTensors, liveTensors()];
    for (let i = 0; i < 3; i++) take();
    // tfjs keeps the states of each batch.
    if (!model.stateful) expect([tf.memory().numTensors, liveTensors()]).toEqual(before);
  }
  const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
  accelerator.freeMemory();
  model.dispose();
  tf.dispose([x, y]);
  return { losses, weights };
}

describe('checkpointEvery', () => {
  for (const [name, make] of Object.entries(MODELS)) {
    it.each([1, 2, 3])(
      `trains ${name} to the same weights, with stretches of %i layers`,
      async (checkpointEvery) => {
        for (const byFit of [false, true]) {
          const expected = await train(make, {}, byFit);
          expect(await train(make, { checkpointEvery }, byFit)).toEqual(expected);
        }
      },
    );
  }

  it('trains in mixed precision and in windows as without checkpointing', async () => {
    const make = MODELS['a chain with dropout and batch normalisation']!;
    const options: AcceleratorOptions = { mixedPrecision: 'bf16', gradientAccumulationSteps: 2 };
    const expected = await train(make, options, true);
    expect(await train(make, { ...options, checkpointEvery: 2 }, true)).toEqual(expected);
  });

  it('needs less memory', async () => {
    const peak = async (options: AcceleratorOptions) => {
      await create(options);
      const layers = Array.from({ length: 12 }, () => tf.layers.dense({ units: 64, activation: 'tanh' }));
      const model = tf.sequential({ layers: [tf.layers.inputLayer({ inputShape: [64] }), ...layers] });
      const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.01));
      const x = wave([4096, 64]);
      const step = () =>
        tf.tidy(
          () => void optimizer.minimize(() => (model.apply(x, { training: true }) as tf.Tensor).mean()),
        );
      step();
      const before = memoryStats().allocatedBytes;
      resetPeakMemory();
      step();
      const bytes = memoryStats().peakAllocatedBytes - before;
      accelerator.freeMemory();
      model.dispose();
      x.dispose();
      return bytes;
    };
    const all = await peak({});
    expect(await peak({ checkpointEvery: 3 })).toBeLessThan(0.7 * all);
  });

  it('refuses masks and invalid numbers of layers', async () => {
    await create({ checkpointEvery: 1 });
    const model = tf.sequential({
      layers: [
        tf.layers.embedding({ inputDim: 9, outputDim: 4, maskZero: true, inputLength: 5 }),
        tf.layers.lstm({ units: 3 }),
        dense(1),
      ],
    });
    const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
    const step = () =>
      tf.tidy(
        () =>
          void optimizer.minimize(() =>
            (model.apply(tf.zeros([2, 5]), { training: true }) as tf.Tensor).mean(),
          ),
      );
    expect(step).toThrowError(expect.objectContaining({ code: 'ACC_CHECKPOINT_MODEL' }) as Error);
    accelerator.freeMemory();
    await expect(Accelerator.create({ checkpointEvery: 0 })).rejects.toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_OPTION' }) as Error,
    );
    await create({});
  });
});
