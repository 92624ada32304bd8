import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { quantize } from './index.js';
import { fold, foldsOf } from './fold-batch-norm.js';
import { quantizableLayers } from './quantizable-layers.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const { batchNormalization, conv1d, conv2d, dense, flatten, reshape } = tf.layers;
const MODELS: Readonly<Record<string, () => tf.Sequential>> = {
  'convolutions with and without biases': () =>
    tf.sequential({
      layers: [
        conv2d({ filters: 4, kernelSize: 2, inputShape: [5, 5, 3] }),
        batchNormalization({ axis: 3 }),
        tf.layers.reLU(),
        conv2d({ filters: 6, kernelSize: 2, useBias: false }),
        batchNormalization({ epsilon: 0.01 }),
        flatten(),
      ],
    }),
  'dense and a line, without factor or shift': () =>
    tf.sequential({
      layers: [
        dense({ units: 12, inputShape: [5] }),
        batchNormalization({ center: false }),
        reshape({ targetShape: [4, 3] }),
        conv1d({ filters: 5, kernelSize: 2, useBias: false }),
        batchNormalization({ scale: false, center: false }),
      ],
    }),
};

/** Statistics as of a training. */
function disturb(model: tf.LayersModel): void {
  tf.tidy(() => {
    model.setWeights(
      model
        .getWeights()
        .map((value, i) =>
          tf.add(tf.mul(value, 0.8), tf.randomUniform(value.shape, 0.1, 0.6, 'float32', i + 1)),
        ),
    );
  });
}

const inputs = (model: tf.LayersModel) =>
  tf.randomNormal([7, ...(model.inputs[0]!.shape.slice(1) as number[])], 0, 1, 'float32', 3);

const difference = (a: tf.Tensor, b: tf.Tensor): number =>
  tf.tidy(() => tf.max(tf.abs(tf.sub(a, b))).dataSync()[0]! / tf.max(tf.abs(b)).dataSync()[0]!);

it.each(Object.entries(MODELS))('%s predict the same, and keep their layers', async (_, make) => {
  const model = make();
  disturb(model);
  const x = inputs(model);
  const expected = model.predict(x) as tf.Tensor;
  const before = tf.memory().numTensors;
  const folds = foldsOf(model as never, quantizableLayers(model.layers));
  expect(folds).toHaveLength(2);
  const kernel = folds[0]!.layer.kernel.read().dataSync();
  for (const each of folds) fold(each);
  expect(folds[0]!.layer.kernel.read().dataSync()).not.toEqual(kernel);
  expect(tf.memory().numTensors).toBe(before);
  const found = model.predict(x) as tf.Tensor;
  expect(difference(found, expected)).toBeLessThan(1e-5);
  // A new model takes the weights.
  const copy = make();
  copy.setWeights(model.getWeights());
  const copied = copy.predict(x) as tf.Tensor;
  expect(copied.dataSync()).toEqual(found.dataSync());
  expect(() => model.apply(x, { training: true })).toThrow(expect.objectContaining({ code: 'ACC_FOLD' }));
  tf.dispose([x, expected, found, copied]);
  model.dispose();
  copy.dispose();
});

it('quantize folds what it packs', async () => {
  const model = MODELS['convolutions with and without biases']!();
  disturb(model);
  const x = inputs(model);
  const expected = model.predict(x) as tf.Tensor;
  const options = { weights: 'int8', activations: 'static', observer: 'minMax', calibration: [x] } as const;
  await quantize(model, { ...options, foldBatchNorm: true });
  const found = model.predict(x) as tf.Tensor;
  expect(difference(found, expected)).toBeLessThan(0.03);
  tf.dispose([x, expected, found]);
  model.dispose();
});

describe('is refused, with the reason,', () => {
  const input = () => tf.input({ shape: [4] });
  const normalized = (x: tf.SymbolicTensor, args = {}) =>
    batchNormalization(args).apply(x) as tf.SymbolicTensor;
  const cases: Readonly<Record<string, () => tf.LayersModel>> = {
    activation: () =>
      tf.sequential({
        layers: [dense({ units: 3, activation: 'relu', inputShape: [4] }), batchNormalization()],
      }),
    'used elsewhere': () => {
      const x = input();
      const y = dense({ units: 3 }).apply(x) as tf.SymbolicTensor;
      return tf.model({ inputs: x, outputs: tf.layers.add().apply([y, normalized(y)]) as tf.SymbolicTensor });
    },
    'also used': () => {
      const x = input();
      const y = dense({ units: 3 }).apply(x) as tf.SymbolicTensor;
      return tf.model({ inputs: x, outputs: [y, normalized(y)] });
    },
    'more than once': () => {
      const layer = dense({ units: 4 });
      const x = input();
      const y = layer.apply(layer.apply(x)) as tf.SymbolicTensor;
      return tf.model({ inputs: x, outputs: normalized(y) });
    },
    'along dim 1': () =>
      tf.sequential({
        layers: [
          conv2d({ filters: 3, kernelSize: 1, inputShape: [4, 4, 2] }),
          batchNormalization({ axis: 1 }),
        ],
      }),
    'no layer': () => tf.sequential({ layers: [dense({ units: 3, inputShape: [4] })] }),
  };

  it.each(Object.entries(cases))('of: %s', async (text, make) => {
    const model = make();
    const values = model.getWeights().map((weight) => weight.dataSync());
    await expect(quantize(model, { weights: 'int8', foldBatchNorm: true })).rejects.toMatchObject({
      code: 'ACC_FOLD',
      message: expect.stringContaining(text) as string,
    });
    expect(model.getWeights().map((weight) => weight.dataSync())).toEqual(values);
    model.dispose();
  });
});
