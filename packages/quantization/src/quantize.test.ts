import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { activeLayer, castDtype, registerAccBackend } from '@acc/kernels';
import { memoryStats } from '@acc/native';
import { quantize, type QuantizeOptions } from './index.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

/** Each kind of layer that tfjs-layers has and that can be quantized, with the shape of an input. */
const MODELS: Readonly<Record<string, () => tf.LayersModel>> = {
  dense: () =>
    tf.sequential({
      layers: [
        tf.layers.dense({ units: 64, activation: 'relu', inputShape: [64], name: 'first' }),
        tf.layers.dense({ units: 8, activation: 'softmax', name: 'head' }),
      ],
    }),
  convolutions: () =>
    tf.sequential({
      layers: [
        tf.layers.conv2d({ filters: 32, kernelSize: 2, activation: 'relu', inputShape: [6, 6, 8] }),
        tf.layers.reshape({ targetShape: [25, 32] }),
        tf.layers.conv1d({ filters: 4, kernelSize: 3 }),
      ],
    }),
  'embedding, LSTM and GRU': () =>
    tf.sequential({
      layers: [
        tf.layers.embedding({ inputDim: 20, outputDim: 32, inputLength: 7 }),
        tf.layers.lstm({ units: 32, returnSequences: true }),
        tf.layers.bidirectional({
          layer: tf.layers.gru({ units: 32 }) as never,
          mergeMode: 'sum',
        }),
      ],
    }),
};

const QUANTIZED: readonly QuantizeOptions[] = [
  { weights: 'int8' },
  { weights: 'int8', activations: 'dynamic' },
  { weights: 'int4', granularity: { group: 32 }, algorithm: 'hqq' },
  { weights: 'nf4', granularity: { group: 32 } },
];

/** All weights, in the order that they have before some are frozen. */
const variablesOf = (model: tf.LayersModel): tf.Variable[] =>
  (model.weights as unknown as { read(): tf.Variable }[]).map((weight) => weight.read());

function inputOf(model: tf.LayersModel): tf.Tensor {
  const shape = [3, ...model.inputs[0]!.shape.slice(1)] as number[];
  const random = tf.randomUniform(shape, 0, 1, 'float32', 5);
  return model.layers[0]!.getClassName() === 'Embedding' ? tf.floor(tf.mul(random, 20)) : random;
}

/** Only matrix products round their input. */
const optionsFor = (kind: string) =>
  QUANTIZED.filter(({ activations }) => activations !== 'dynamic' || kind === 'dense');

describe.each(Object.entries(MODELS))('a model of %s', (kind, make) => {
  it.each(optionsFor(kind))('computes with packed weights as with their values (%o)', async (options) => {
    const model = make();
    const weights = variablesOf(model);
    const before = memoryStats().allocatedBytes;
    const tensors = tf.memory().numTensors;
    const report = await quantize(model, options);
    expect(tf.memory().numTensors).toBe(tensors);
    expect(before - memoryStats().allocatedBytes).toBeGreaterThan(0);
    for (const { sqnr, bits, bytes } of report) {
      expect(sqnr).toBeGreaterThan(12);
      expect(bits).toBeLessThan(10);
      expect(bytes).toBeGreaterThan(0);
    }
    const plain = make();
    tf.tidy(() => {
      variablesOf(plain).forEach((variable, i) =>
        variable.assign(tf.tensor(weights[i]!.dataSync(), variable.shape)),
      );
      const x = inputOf(model);
      const expected = plain.predict(x) as tf.Tensor;
      const found = model.predict(x) as tf.Tensor;
      const difference = tf.max(tf.abs(tf.sub(found, expected))).dataSync()[0]!;
      expect(difference).toBeLessThan(0.02 * tf.max(tf.abs(expected)).dataSync()[0]!);
    });
    model.dispose();
    plain.dispose();
  });
});

it('reports each layer by its name, and leaves out what exclude names', async () => {
  const model = MODELS['dense']!();
  const report = await quantize(model, { weights: 'int8', exclude: ['head'] });
  expect(report.map(({ layer }) => layer)).toEqual(['first']);
  expect(report[0]).toMatchObject({ bytes: 64 * 64 + 64 * 4, bits: 8 + 32 / 64 });
  expect(model.getLayer('head').trainableWeights).toHaveLength(2);
  expect(model.getLayer('first').trainableWeights.map(({ originalName }) => originalName)).toEqual([
    'first/bias',
  ]);
  model.dispose();
});

it('trains what is not quantized', async () => {
  const model = MODELS['dense']!();
  const kernel = variablesOf(model)[0]!;
  await quantize(model, { weights: 'nf4', layers: ['first'] });
  model.compile({ optimizer: tf.train.sgd(0.5), loss: 'categoricalCrossentropy' });
  const values = kernel.dataSync();
  const x = tf.randomUniform([32, 64], 0, 1, 'float32', 1);
  const y = tf.oneHot(tf.range(0, 32, 1, 'int32').mod(8).toInt(), 8);
  const { history } = await model.fit(x, y, { epochs: 8, verbose: 0 });
  const losses = history['loss'] as number[];
  expect(losses.at(-1)!).toBeLessThan(losses[0]!);
  expect(kernel.dataSync()).toEqual(values);
  tf.dispose([x, y]);
  model.dispose();
});

it('recurrent layers compute in bfloat16 where all but their packed weights are', async () => {
  const model = MODELS['embedding, LSTM and GRU']!();
  await quantize(model, { weights: 'int4', granularity: { group: 32 } });
  const kernels = activeLayer({ hasNative: true });
  const undo = kernels.fuseLayers(model.layers);
  const short = (x: tf.Tensor) => castDtype(x, 'bfloat16', 'float32');
  tf.tidy(() => {
    const x = tf.randomUniform([2, 7, 32], -1, 1, 'float32', 4);
    const run = (input: tf.Tensor) => model.layers[1]!.apply(input) as tf.Tensor;
    const expected = tf.grad(run)(x);
    // Mixed precision gives layers their biases in 16 bits, too.
    for (const variable of variablesOf(model)) if (variable.rank === 1) variable.assign(short(variable));
    expect(kernels.precision!.dtypeOf(run(short(x)))).toBe('bfloat16');
    const found = tf.grad((input: tf.Tensor) => castDtype(run(short(input)), 'float32', 'bfloat16'))(x);
    const difference = tf.max(tf.abs(tf.sub(found, expected))).dataSync()[0]!;
    expect(difference).toBeLessThan(0.05 * tf.max(tf.abs(expected)).dataSync()[0]!);
  });
  undo();
  model.dispose();
});

describe('is refused', () => {
  const codeOf = (run: Promise<unknown>) =>
    run.then(
      () => 'nothing thrown',
      (error: { code?: string }) => error.code,
    );

  it('before anything changes', async () => {
    const model = MODELS['dense']!();
    const before = tf.memory().numTensors;
    const cases: readonly (readonly [object, object, string])[] = [
      [model, { weights: 'int8', layers: ['heads'] }, 'ACC_QUANTIZE_LAYERS'],
      [model, { weights: 'int8', exclude: ['**'] }, 'ACC_QUANTIZE_LAYERS'],
      [model, { weights: 'int4' }, 'ACC_QUANTIZE_SHAPE'],
      [model, { weights: 'int8', algorithm: 'awq' }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'int8', calibration: [] }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'int8', layers: [] }, 'ACC_INVALID_OPTION'],
      [model, { weights: 'bf16' }, 'ACC_INVALID_OPTION'],
      [{}, { weights: 'int8' }, 'ACC_INVALID_ARGUMENT'],
    ];
    for (const [subject, options, code] of cases) {
      expect(await codeOf(quantize(subject, options as QuantizeOptions))).toBe(code);
    }
    expect(tf.memory().numTensors).toBe(before);
    const others = MODELS['convolutions']!();
    const names = others.layers.filter(({ name }) => name.startsWith('conv')).map(({ name }) => `'${name}'`);
    await expect(quantize(others, { weights: 'int8', activations: 'dynamic' })).rejects.toMatchObject({
      code: 'ACC_INVALID_OPTION',
      message: expect.stringContaining(names.join(', ')),
    });
    others.dispose();
    expect((await quantize(model, { weights: 'int8', exclude: [] })).length).toBe(2);
    model.dispose();
  });

  it('while another call quantizes the model', async () => {
    const model = MODELS['dense']!();
    const first = codeOf(quantize(model, { weights: 'int8' }));
    const second = codeOf(quantize(model, { weights: 'int8', layers: ['head'] }));
    expect(await Promise.all([first, second])).toEqual(['ACC_QUANTIZED', 'nothing thrown']);
    model.dispose();
  });
});
