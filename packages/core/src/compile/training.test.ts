import * as tf from '@tensorflow/tfjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Plugin } from '@acc/contract';
import { dropout, gelu, layerNorm, scaledDotProductAttention } from '@acc/kernels';
import { adamw } from '@acc/optimizers';
import { memoryStats, numThreads, setNumThreads, setSeed } from '@acc/native';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

// A compiled training and a plain one from the same weights, step by step.

let accelerator: Accelerator | undefined;
// The networks are tiny, and several threads wait for each other more than they compute.
const threads = numThreads();
beforeAll(() => setNumThreads(1));
afterAll(() => setNumThreads(threads));
afterEach(() => {
  accelerator?.freeMemory();
  accelerator = undefined;
  tf.disposeVariables();
});

type Loss = (x: tf.Tensor, y: tf.Tensor) => tf.Scalar;

interface Model {
  readonly variables: tf.Variable[];
  readonly trainable: tf.LayersModel | tf.Variable[];
  readonly loss: Loss;
  batch(i: number): [x: tf.Tensor, y: tf.Tensor];
}

// tfjs takes a seed of 0 for none.
const random = (shape: number[], seed: number) => tf.randomNormal(shape, 0, 0.3, 'float32', seed + 1);

function ofLayers(model: tf.LayersModel, inputShape: number[]): Model {
  const classes = model.outputShape[1] as number;
  model.weights.forEach((weight, i) => {
    if (weight.shape.length > 1) weight.write(random(weight.shape as number[], i + 1));
  });
  return {
    variables: model.weights.map((weight) => weight.read() as tf.Variable),
    trainable: model,
    loss: (x, y) => tf.losses.softmaxCrossEntropy(y, model.apply(x, { training: true }) as tf.Tensor),
    batch: (i) => [
      random([4, ...inputShape], i),
      tf.oneHot(tf.tensor1d([0, 1, 2, i % 3], 'int32'), classes).toFloat(),
    ],
  };
}

const mlp = (units = 8) =>
  ofLayers(
    tf.sequential({
      layers: [
        tf.layers.dense({ units, activation: 'relu', inputShape: [6] }),
        tf.layers.dense({ units: 3 }),
      ],
    }),
    [6],
  );

const convnet = () =>
  ofLayers(
    tf.sequential({
      layers: [
        tf.layers.conv2d({ filters: 4, kernelSize: 3, padding: 'same', inputShape: [8, 8, 2] }),
        tf.layers.batchNormalization(),
        tf.layers.reLU(),
        tf.layers.maxPooling2d({ poolSize: 2 }),
        tf.layers.flatten(),
        tf.layers.dense({ units: 3 }),
      ],
    }),
    [8, 8, 2],
  );

/** Fused layers with a state of their own, and dropout, which libtorch draws. */
const lstm = () =>
  ofLayers(
    tf.sequential({
      layers: [
        tf.layers.lstm({ units: 5, inputShape: [4, 3] }),
        tf.layers.dropout({ rate: 0.3 }),
        tf.layers.layerNormalization(),
        tf.layers.dense({ units: 3 }),
      ],
    }),
    [4, 3],
  );

function gpt(): Model {
  const [T, V, C, H] = [6, 7, 8, 2];
  const variable = (shape: number[], seed: number) => tf.variable(random(shape, seed));
  const tokens = variable([V, C], 1) as tf.Variable<tf.Rank.R2>;
  const positions = variable([T, C], 2);
  const [gain, bias] = [tf.variable(tf.ones([C])), tf.variable(tf.zeros([C]))];
  const qkv = variable([C, 3 * C], 3) as tf.Variable<tf.Rank.R2>;
  const head = variable([C, V], 4) as tf.Variable<tf.Rank.R2>;
  const variables = [tokens, positions, gain, bias, qkv, head] as tf.Variable[];
  return {
    variables,
    trainable: variables,
    loss: (x, y) =>
      tf.tidy(() => {
        const [B] = x.shape as [number];
        const embedded = tf
          .add(tf.gather(tokens, x as tf.Tensor2D), positions)
          .reshape([B * T, C]) as tf.Tensor2D;
        const [q, k, v] = tf
          .split(tf.matMul(layerNorm(embedded, gain, bias), qkv), 3, -1)
          .map((part) => part.reshape([B, T, H, C / H]).transpose([0, 2, 1, 3]) as tf.Tensor4D);
        const mixed = scaledDotProductAttention(q!, k!, v!, { isCausal: true });
        const hidden = gelu(
          mixed
            .transpose([0, 2, 1, 3])
            .reshape([B * T, C])
            .add(embedded),
        ) as tf.Tensor2D;
        const oneHot = tf.oneHot(y.flatten().toInt(), V).toFloat();
        return tf.losses.softmaxCrossEntropy(oneHot, tf.matMul(hidden, head)) as tf.Scalar;
      }),
    batch: (i) => [
      tf.randomUniform([2, T], 0, V, 'int32', i + 1),
      tf.randomUniform([2, T], 0, V, 'int32', i + 100),
    ],
  };
}

interface Training {
  readonly model: Model;
  readonly optimizer: tf.Optimizer;
  readonly step: (x: tf.Tensor, y: tf.Tensor) => tf.Tensor;
}

interface Setting {
  readonly model: () => Model;
  readonly optimizer: () => tf.Optimizer;
  readonly options?: () => AcceleratorOptions;
  /** By default one call of `minimize`. */
  readonly step?: (training: Training) => Training['step'];
  /** Called in front of each step. */
  readonly before?: (i: number, training: Training) => void | Promise<void>;
}

const STEPS = 24;

interface Trained {
  losses: number[];
  weights: number[][];
  replays: number;
  reason: string | undefined;
}

async function train(setting: Setting, isCompiled: boolean): Promise<Trained> {
  const { before } = setting;
  accelerator = await Accelerator.create(setting.options?.());
  const model = setting.model();
  const [, optimizer] = accelerator.prepare(model.trainable as tf.Variable[], setting.optimizer());
  const minimize = (x: tf.Tensor, y: tf.Tensor) => optimizer.minimize(() => model.loss(x, y), true)!;
  const training = { model, optimizer, step: minimize };
  const plain = setting.step?.(training) ?? minimize;
  const compiled = accelerator.compile(plain);
  const losses: number[] = [];
  for (let i = 0; i < STEPS; i++) {
    await before?.(i, training);
    const [x, y] = tf.tidy(() => model.batch(i));
    const loss = isCompiled ? compiled(x, y) : tf.tidy(() => plain(x, y));
    losses.push(loss.dataSync()[0]!);
    tf.dispose([x, y, loss]);
  }
  const weights = model.variables.map((variable) => Array.from(variable.dataSync()));
  const { replays, reason } = compiled;
  accelerator.freeMemory();
  accelerator = undefined;
  tf.disposeVariables();
  return { losses, weights, replays, reason };
}

async function expectSame(setting: Setting, replays = STEPS - 3): Promise<void> {
  const plain = await train(setting, false);
  const compiled = await train(setting, true);
  expect(compiled.reason).toBeUndefined();
  expect(compiled.losses).toEqual(plain.losses);
  expect(compiled.weights).toEqual(plain.weights);
  expect(compiled.replays).toBe(replays);
  // It did train.
  expect(plain.losses.every(Number.isFinite)).toBe(true);
  expect(new Set(plain.losses).size).toBeGreaterThan(STEPS / 2);
}

const adam = () => tf.train.adam(0.01);

/** Clips all gradients by their common norm, in new tensors. */
const clipping = (): Plugin => ({
  name: 'clipping',
  transform(grads) {
    const norm = tf.tidy(() => tf.sqrt(tf.addN(Object.values(grads).map((grad) => grad.square().sum()))));
    const factor = Math.min(1, 0.1 / norm.dataSync()[0]!);
    norm.dispose();
    for (const [name, grad] of Object.entries(grads)) {
      grads[name] = tf.tidy(() => grad.mul(factor));
      grad.dispose();
    }
  },
});

describe('a compiled training gives the weights of an uncompiled one, bit for bit', () => {
  it.each<[string, Setting]>([
    ['an MLP with Adam', { model: mlp, optimizer: adam }],
    ['an MLP with momentum', { model: mlp, optimizer: () => tf.train.momentum(0.1, 0.9) }],
    ['an MLP with AdamW', { model: mlp, optimizer: () => adamw({ learningRate: 0.01 }) }],
    ['a wide MLP with packed state', { model: () => mlp(700), optimizer: () => adamw({ stateBits: 8 }) }],
    ['a convnet with batch norm and max pooling', { model: convnet, optimizer: adam }],
    [
      'an LSTM with dropout of the same seed',
      { model: lstm, optimizer: adam, before: (i) => void (i === 0 && setSeed(5)) },
    ],
    ['a GPT of fused functions', { model: gpt, optimizer: adam }],
    ['clipping, by a plugin', { model: mlp, optimizer: adam, options: () => ({ plugins: [clipping()] }) }],
  ])('%s', (_, setting) => expectSame(setting));

  it('with a changing learning rate', () =>
    expectSame({
      model: mlp,
      optimizer: () => tf.train.sgd(0.1),
      before: (i, { optimizer }) => (optimizer as tf.SGDOptimizer).setLearningRate(0.1 / (1 + i)),
    }));

  it('with weights that are set between steps, also while a clone of them exists', () => {
    const clones: [clone: tf.Tensor, values: string][] = [];
    return expectSame({
      model: mlp,
      optimizer: adam,
      before(i, { model }) {
        if (i % 5 === 4) model.variables[0]!.assign(random(model.variables[0]!.shape, i));
        const clone = model.variables[0]!.clone();
        clones.push([clone, clone.dataSync().join()]);
        for (const [held, values] of clones) expect(held.dataSync().join()).toBe(values);
      },
    });
  });

  it('with optimizer state that is saved and loaded', () =>
    expectSame({
      model: mlp,
      optimizer: () => adamw({ learningRate: 0.01 }),
      async before(i, { optimizer }) {
        if (i !== 10) return;
        const state = (await optimizer.getWeights()).map(({ name, tensor }) => ({
          name,
          tensor: tensor.clone(),
        }));
        await optimizer.setWeights(state);
      },
    }));

  it('with gradients that are accumulated over two micro-batches', () =>
    expectSame({
      model: mlp,
      optimizer: adam,
      step:
        ({ model, optimizer }) =>
        (x, y) => {
          const trained = model.variables;
          const half = (from: number) =>
            tf.variableGrads(
              () => model.loss(x.slice([from, 0], [2, -1]), y.slice([from, 0], [2, -1])),
              trained,
            );
          const [first, second] = [half(0), half(2)];
          const grads = Object.fromEntries(
            Object.entries(first.grads).map(([name, grad]) => [name, grad.add(second.grads[name]!)]),
          );
          optimizer.applyGradients(grads);
          return first.value.add(second.value);
        },
    }));

  it('with two optimizers in one step', () =>
    expectSame({
      model: mlp,
      optimizer: adam,
      step({ model, optimizer }) {
        const [last, other] = [model.variables.slice(2), accelerator!.prepare(tf.train.sgd(0.05))];
        return (x, y) => {
          const loss = optimizer.minimize(() => model.loss(x, y), true, model.variables.slice(0, 2))!;
          return loss.add(other.minimize(() => model.loss(x, y), true, last)!);
        };
      },
    }));

  it('with an unprepared optimizer', () =>
    expectSame({
      model: mlp,
      optimizer: adam,
      step({ model }) {
        const own = tf.train.sgd(0.05);
        return (x, y) => own.minimize(() => model.loss(x, y), true)!;
      },
    }));

  it('with an average of a variable that the step maintains', () =>
    expectSame({
      model: mlp,
      optimizer: adam,
      step({ model, optimizer }) {
        const average = tf.variable(tf.zeros([8]), false);
        return (x, y) => {
          const loss = optimizer.minimize(() => model.loss(x, y), true)!;
          average.assign(average.mul(0.9).add(model.variables[1]!.mul(0.1)));
          return loss.add(average.sum());
        };
      },
    }));
});

describe('memory', () => {
  let training: { step: (x: tf.Tensor, y: tf.Tensor) => tf.Tensor; x: tf.Tensor; y: tf.Tensor };
  beforeEach(async () => {
    accelerator = await Accelerator.create();
    const model = convnet();
    const [, optimizer] = accelerator.prepare(model.trainable as tf.LayersModel, adam());
    const step = accelerator.compile((x: tf.Tensor, y: tf.Tensor) => {
      return optimizer.minimize(() => model.loss(dropout(x, 0.1), y) as tf.Scalar, true)!;
    });
    const [x, y] = tf.tidy(() => model.batch(1));
    training = { step, x, y };
    for (let i = 0; i < 6; i++) step(x, y).dispose();
    expect(step.replays).toBe(3);
  });

  it('is the same after a thousand replays, in tensors and in bytes', () => {
    const { step, x, y } = training;
    const figures = () => ({ tensors: tf.memory().numTensors, bytes: memoryStats().allocatedBytes });
    const before = figures();
    for (let i = 0; i < 1000; i++) step(x, y).dispose();
    expect(figures()).toEqual(before);
    for (let i = 0; i < 10; i++) tf.tidy(() => void step(x, y));
    expect(figures()).toEqual(before);
  });
});
