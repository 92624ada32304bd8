import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { notePrepared } from '@acc/contract';
import { activeLayer, isFakeQuantized, packedOf, registerAccBackend } from '@acc/kernels';
import { expectClose } from '@acc/testkit';
import { livePatches } from '@acc/tfjs-internals';
import {
  convertQat,
  freezeObservers,
  prepareQat,
  quantize,
  quantizeVariable,
  type QatOptions,
} from '../index.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const WEIGHTS = { kernelInitializer: 'glorotUniform', recurrentInitializer: 'glorotUniform' } as const;

const MODELS = {
  dense: () =>
    tf.sequential({
      layers: [
        tf.layers.dense({ units: 64, activation: 'relu', inputShape: [32], name: 'first' }),
        tf.layers.dense({ units: 3, name: 'head' }),
      ],
    }),
  convolutions: () =>
    tf.sequential({
      layers: [
        tf.layers.conv2d({ filters: 32, kernelSize: 2, activation: 'relu', inputShape: [4, 4, 8] }),
        tf.layers.conv2d({ filters: 8, kernelSize: 2 }),
        tf.layers.flatten(),
        tf.layers.reshape({ targetShape: [4, 8] }),
        tf.layers.conv1d({ filters: 3, kernelSize: 4 }),
        tf.layers.flatten(),
      ],
    }),
  'embedding, LSTM and GRU': () =>
    tf.sequential({
      layers: [
        tf.layers.embedding({ inputDim: 20, outputDim: 32, inputLength: 5 }),
        tf.layers.lstm({ units: 32, returnSequences: true, ...WEIGHTS }),
        tf.layers.bidirectional({
          layer: tf.layers.gru({ units: 3, ...WEIGHTS }) as never,
          mergeMode: 'sum',
        }),
      ],
    }),
};
type Kind = keyof typeof MODELS;

const OPTIONS: readonly QatOptions[] = [
  { weights: 'int8' },
  { weights: 'int8', granularity: 'tensor', scales: 'learned' },
  { weights: 'int8', granularity: { group: 32 } },
  { weights: 'int4', granularity: { group: 32 }, scales: 'learned' },
  { weights: 'int4', granularity: { group: 32 } },
  { weights: 'int8', activations: 'dynamic', scales: 'learned' },
  { weights: 'int8', activations: 'static' },
  { weights: 'int4', granularity: { group: 32 }, activations: 'static', observer: 'minMax' },
];

const fits = (kind: Kind, { activations = 'none', granularity }: QatOptions) =>
  kind === 'dense' ||
  (activations !== 'dynamic' && kind === 'convolutions') ||
  // GRU has three units.
  (activations === 'none' && typeof granularity !== 'object');

const CASES = (Object.keys(MODELS) as Kind[]).flatMap((kind) =>
  OPTIONS.filter((options) => fits(kind, options)).map((options) => [kind, options] as const),
);

function batch(model: tf.LayersModel): { readonly x: tf.Tensor; readonly y: tf.Tensor } {
  const shape = [24, ...model.inputs[0]!.shape.slice(1)] as number[];
  return tf.tidy(() => {
    const random = tf.randomUniform(shape, 0, 1, 'float32', 5);
    const isIndex = model.layers[0]!.getClassName() === 'Embedding';
    const y = tf.randomUniform([24, 3], -1, 1, 'float32', 6);
    return { x: isIndex ? tf.floor(tf.mul(random, 20)) : random, y };
  });
}

/** A model whose weights are the same in every run. */
function modelOf(kind: Kind): tf.Sequential {
  const model = MODELS[kind]();
  tf.tidy(() =>
    model.setWeights(
      model.getWeights().map(({ shape }, i) => tf.randomUniform(shape, -0.2, 0.2, 'float32', i + 1)),
    ),
  );
  return model;
}

function compile(model: tf.LayersModel): void {
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
}

async function fit(model: tf.LayersModel, epochs: number): Promise<number[]> {
  const { x, y } = batch(model);
  const { history } = await model.fit(x, y, { epochs, batchSize: 24, shuffle: false, verbose: 0 });
  tf.dispose([x, y]);
  return history['loss'] as number[];
}

function predict(model: tf.LayersModel): Float32Array {
  const { x, y } = batch(model);
  const values = tf.tidy(() => (model.predict(x) as tf.Tensor).dataSync() as Float32Array);
  tf.dispose([x, y]);
  return values;
}

const largest = (values: Float32Array): number =>
  values.reduce((most, each) => Math.max(most, Math.abs(each)), 0);

describe.each(CASES)('a model of %s trained with %o', (kind, options) => {
  it('learns, and computes the same once its weights are packed', async () => {
    const model = modelOf(kind);
    const before = model.countParams();
    expect(prepareQat(model, options)).toBe(model);
    const undo = activeLayer({ hasNative: true }).fuseLayers(model.layers);
    compile(model);
    const losses = await fit(model, 6);
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
    const trained = predict(model);
    const kernels = model.layers.flatMap((layer) => layer.weights.map((weight) => weight.read()));
    const isWeight = ({ name }: tf.Variable) => !/_scale|input_range/.test(name);
    const rough = (kernels as tf.Variable[]).filter((each) => isFakeQuantized(each) && isWeight(each));
    expect(rough.length).toBeGreaterThan(0);
    const reports = await convertQat(model);
    expect(reports.length).toBeGreaterThan(0);
    for (const { sqnr, bits } of reports) {
      expect(sqnr).toBeGreaterThan(12);
      expect(bits).toBeLessThan(13);
    }
    for (const variable of rough) expect(packedOf(variable)).toBeDefined();
    expectClose(predict(model), trained, { rtol: 0, atol: 1e-5 * largest(trained) });
    // Learned scales are in the packed weights. Ranges of inputs stay.
    const ranges = options.activations === 'static' ? 3 * reports.length : 0;
    expect(model.countParams()).toBe(before + ranges);
    undo();
    model.dispose();
  });
});

it('a step changes weights as plain arithmetic with rounded weights does', async () => {
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 4, inputShape: [32], useBias: false })],
  });
  prepareQat(model, { weights: 'int8' });
  const weight = model.layers[0]!.weights[0]!;
  const w = tf.tidy(() => tf.variable(weight.read() as tf.Tensor));
  const [x, y] = [
    tf.randomUniform([8, 32], -1, 1, 'float32', 1),
    tf.randomUniform([8, 4], -1, 1, 'float32', 2),
  ];
  model.compile({ optimizer: tf.train.sgd(0.5), loss: 'meanSquaredError' });
  await model.fit(x, y, { epochs: 3, batchSize: 8, verbose: 0 });
  for (let step = 0; step < 3; step++) {
    tf.tidy(() => {
      const scales = tf.div(tf.max(tf.abs(w), 0, true), 127);
      const rounded = tf.mul(tf.round(tf.div(w, scales)), scales) as tf.Tensor2D;
      const errors = tf.sub(tf.matMul(x as tf.Tensor2D, rounded), y);
      const gradient = tf.div(tf.matMul(x as tf.Tensor2D, errors as tf.Tensor2D, true), (8 * 4) / 2);
      w.assign(tf.sub(w, tf.mul(gradient, 0.5)));
    });
  }
  expectClose((weight.read() as tf.Tensor).dataSync(), w.dataSync(), { rtol: 1e-5, atol: 1e-6 });
  tf.dispose([x, y, w]);
  model.dispose();
});

describe('the range of inputs', () => {
  /** The ranges after each training pass with inputs from -step to 2 · step. */
  async function ranges(options: Partial<QatOptions>, freezeAt = Infinity): Promise<number[][]> {
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2] })] });
    prepareQat(model, { weights: 'int8', activations: 'static', ...options });
    const range = model.layers[0]!.weights.at(-1)!;
    const found: number[][] = [];
    for (let step = 1; step <= 4; step++) {
      if (step === freezeAt) freezeObservers(model);
      tf.tidy(() => void model.apply(tf.tensor2d([[-step, 2 * step]]), { training: true }));
      tf.tidy(() => void model.predict(tf.tensor2d([[-100, 100]])));
      found.push([...(range.read() as tf.Tensor).dataSync()].slice(0, 2));
    }
    model.dispose();
    return found;
  }

  it.each<readonly [string, Partial<QatOptions>, number | undefined, number[]]>([
    ['grows', { observer: 'minMax' }, undefined, [1, 2, 3, 4]],
    ['is a moving average', {}, undefined, [1, 1.01, 1.0299, 1.059601]],
    ['stays after some passes', { observer: 'minMax', freezeAfter: 2 }, undefined, [1, 2, 2, 2]],
    ['stays when it is frozen', { observer: 'minMax' }, 4, [1, 2, 3, 3]],
  ])('%s, in training alone (%o)', async (_, options, freezeAt, expected) => {
    expectClose(
      await ranges(options, freezeAt),
      expected.map((each) => [each, 2 * each]),
      { rtol: 1e-6 },
    );
  });

  it('is that of all ranks, also of one without rows, until the layer is converted', async () => {
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2] })] });
    prepareQat(model, { weights: 'int8', activations: 'static' });
    const apply = (x: tf.Tensor) => tf.dispose(model.apply(x, { training: true }) as tf.Tensor);
    const range = () => [...(model.weights.at(-1)!.read() as tf.Tensor).dataSync()];
    const none = tf.zeros([0, 2]);
    apply(none);
    expect(range()).toEqual([0, 0, 0]);
    const found: number[][] = [];
    const life = {
      isOver: false,
      largest(own: tf.Tensor) {
        found.push([...own.dataSync()]);
        return tf.maximum(own, [3, 5]);
      },
    };
    notePrepared([model.layers[0]!], life);
    apply(none);
    expect(range()).toEqual([3, 5, 1]);
    expect(found).toEqual([[-Infinity, -Infinity]]);
    await convertQat(model);
    apply(none);
    expect(found).toHaveLength(1);
    none.dispose();
    model.dispose();
  });

  it('rounds nothing before it is known', () => {
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [32] })] });
    const { x, y } = batch(model);
    prepareQat(model, { weights: 'int8', activations: 'static' });
    const before = predict(model);
    const without = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [32] })] });
    without.setWeights(model.getWeights().slice(0, 2));
    prepareQat(without, { weights: 'int8' });
    expectClose(before, predict(without), { rtol: 1e-6 });
    tf.tidy(() => void model.apply(x, { training: true }));
    expect(largest(predict(model).map((each, i) => each - before[i]!))).toBeGreaterThan(1e-5);
    tf.dispose([x, y]);
    model.dispose();
    without.dispose();
  });
});

it('a compiled model trains the rest once its weights are packed', async () => {
  const model = modelOf('dense');
  prepareQat(model, { weights: 'int4', granularity: { group: 32 }, scales: 'learned' });
  compile(model);
  const [before] = await fit(model, 2);
  await convertQat(model);
  const losses = await fit(model, 3);
  expect(losses.at(-1)!).toBeLessThan(losses[0]!);
  expect(losses[0]!).toBeLessThan(before!);
  model.dispose();
});

it('leaves no tensors and no patches behind', async () => {
  const patches = livePatches();
  const model = modelOf('dense');
  prepareQat(model, {
    weights: 'int4',
    granularity: { group: 32 },
    scales: 'learned',
    activations: 'static',
  });
  compile(model);
  await fit(model, 1);
  const before = tf.memory().numTensors;
  predict(model);
  await fit(model, 2);
  expect(tf.memory().numTensors).toBe(before);
  await convertQat(model);
  // The scales of two kernels.
  expect(tf.memory().numTensors).toBe(before - 2);
  model.dispose();
  const trained = modelOf('dense');
  prepareQat(trained, { weights: 'int8' });
  trained.dispose();
  expect(livePatches()).toEqual(patches);
});

describe('is refused', () => {
  const codeOf = async (run: () => unknown): Promise<unknown> => {
    try {
      await run();
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return 'nothing thrown';
  };

  it('before anything changes', async () => {
    const model = modelOf('dense');
    const others = modelOf('embedding, LSTM and GRU');
    const wrapped = tf.sequential({
      layers: [tf.layers.timeDistributed({ layer: tf.layers.dense({ units: 2 }), inputShape: [3, 32] })],
    });
    const before = tf.memory().numTensors;
    const cases: readonly (readonly [object, object, string])[] = [
      [model, { weights: 'nf4' }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'ternary' }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'int8', activations: 'dynamic', granularity: { group: 32 } }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'int8', freezeAfter: 3 }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'int8', observer: 'minMax' }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'int8', algorithm: 'hqq' }, 'ACC_UNKNOWN_OPTION'],
      [model, { weights: 'int8', layers: ['heads'] }, 'ACC_QUANTIZE_LAYERS'],
      [model, { weights: 'int4' }, 'ACC_QUANTIZE_SHAPE'],
      [others, { weights: 'int8', activations: 'static' }, 'ACC_INVALID_OPTION'],
      [others, { weights: 'int8', activations: 'dynamic' }, 'ACC_INVALID_OPTION'],
      [wrapped, { weights: 'int8', activations: 'static' }, 'ACC_INVALID_OPTION'],
      [{}, { weights: 'int8' }, 'ACC_INVALID_ARGUMENT'],
    ];
    for (const [subject, options, code] of cases) {
      expect(await codeOf(() => prepareQat(subject, options as QatOptions))).toBe(code);
    }
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    const learned = () => prepareQat(model, { weights: 'int8', scales: 'learned' });
    expect(await codeOf(learned)).toBe('ACC_QUANTIZE_TOO_LATE');
    model.optimizer.dispose();
    expect(tf.memory().numTensors).toBe(before);
    for (const each of [model, others, wrapped]) each.dispose();
  });

  it('in the wrong order', async () => {
    const model = modelOf('dense');
    expect(await codeOf(() => convertQat(model))).toBe('ACC_QAT_STATE');
    prepareQat(model, { weights: 'int8', activations: 'static', layers: ['first'] });
    prepareQat(model, { weights: 'int8', layers: ['head'] });
    const kernel = model.layers[0]!.weights[0]!.read() as tf.Variable;
    expect(await codeOf(() => prepareQat(model, { weights: 'int8' }))).toBe('ACC_QAT_STATE');
    expect(await codeOf(() => quantize(model, { weights: 'int8' }))).toBe('ACC_QAT_STATE');
    expect(await codeOf(() => quantizeVariable(kernel, { weights: 'int8' }))).toBe('ACC_QAT_STATE');
    expect(await codeOf(() => convertQat(model))).toBe('ACC_QAT_NO_DATA');
    expect(await codeOf(() => freezeObservers(model))).toBe('ACC_QAT_NO_DATA');
    tf.tidy(() => void model.apply(tf.ones([2, 32]), { training: true }));
    const life = { isOver: false };
    notePrepared([kernel], life);
    expect(await codeOf(() => convertQat(model))).toBe('ACC_QUANTIZE_TOO_LATE');
    life.isOver = true;
    const values = kernel.dataSync();
    tf.tidy(() => kernel.assign(tf.fill(kernel.shape, NaN)));
    expect(await codeOf(() => convertQat(model))).toBe('ACC_QUANTIZE_VALUES');
    tf.tidy(() => kernel.assign(tf.tensor(values, kernel.shape)));
    expect(isFakeQuantized(kernel)).toBe(true);
    expect((await convertQat(model)).map(({ layer }) => layer)).toEqual(['first', 'head']);
    expect(await codeOf(() => convertQat(model))).toBe('ACC_QAT_STATE');
    expect(await codeOf(() => prepareQat(model, { weights: 'int8' }))).toBe('ACC_QUANTIZED');
    const plain = modelOf('dense');
    prepareQat(plain, { weights: 'int8' });
    expect(await codeOf(() => freezeObservers(plain))).toBe('ACC_QAT_STATE');
    plain.dispose();
    model.dispose();
  });
});
