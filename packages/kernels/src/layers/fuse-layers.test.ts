import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { registerAccBackend } from '../register-backend.js';
import { fuseLayers } from './index.js';

// tests/layers-parity checks on prepared models that every fused layer computes the same as tfjs's.
// The tests here check which layers are fused, and when.

registerAccBackend();
beforeEach(() => tf.setBackend('acc'));

const undos: (() => void)[] = [];
afterEach(() => undos.splice(0).forEach((undo) => undo()));

function fuse(...layers: tf.layers.Layer[]): void {
  undos.push(fuseLayers(layers));
}

type Call = (x: tf.Tensor, training: boolean) => tf.Tensor;

const callOf =
  (layer: tf.layers.Layer): Call =>
  (x, training) =>
    layer.apply(x, { training }) as tf.Tensor;

/** The kernels of one training step: the forward pass and the gradients of the layer's weights. */
async function kernelsOf(layer: tf.layers.Layer, shape: number[], training = true): Promise<string[]> {
  const x = tf.randomUniform(shape);
  const call = callOf(layer);
  call(x, training).dispose();
  const { kernels } = await tf.profile(() =>
    tf.tidy(() => {
      if (!training || layer.trainableWeights.length === 0) return call(x, training);
      return tf.variableGrads(() => call(x, training).sum() as tf.Scalar).value;
    }),
  );
  x.dispose();
  return kernels.map(({ name }) => name);
}

const WEIGHTS = { kernelInitializer: 'glorotUniform', recurrentInitializer: 'glorotUniform' } as const;

const FUSED: Readonly<
  Record<string, readonly [make: () => tf.layers.Layer, shape: number[], kernel: string]>
> = {
  dense: [() => tf.layers.dense({ units: 2, activation: 'relu' }), [3, 4], '_FusedMatMul'],
  'dense, of sequences': [() => tf.layers.dense({ units: 2 }), [3, 4, 5], '_FusedMatMul'],
  conv2d: [
    () => tf.layers.conv2d({ filters: 2, kernelSize: 3, activation: 'relu' }),
    [2, 5, 5, 3],
    'FusedConv2D',
  ],
  batchNormalization: [() => tf.layers.batchNormalization(), [4, 3], 'AccBatchNormGrad'],
  'batchNormalization of images': [() => tf.layers.batchNormalization(), [4, 3, 3, 2], 'AccBatchNormGrad'],
  layerNormalization: [() => tf.layers.layerNormalization(), [4, 3], 'AccLayerNormGrad'],
  dropout: [() => tf.layers.dropout({ rate: 0.5 }), [4, 3], 'AccDropout'],
  lstm: [() => tf.layers.lstm({ units: 2, ...WEIGHTS }), [2, 3, 4], 'AccLstmGrad'],
  gru: [() => tf.layers.gru({ units: 2, ...WEIGHTS }), [2, 3, 4], 'AccGruGrad'],
  'lstm within bidirectional': [
    () =>
      tf.layers.bidirectional({
        layer: tf.layers.lstm({ units: 2, ...WEIGHTS }) as tf.RNN,
        mergeMode: 'concat',
      }),
    [2, 3, 4],
    'AccLstmGrad',
  ],
  'dense within timeDistributed': [
    () => tf.layers.timeDistributed({ layer: tf.layers.dense({ units: 2, activation: 'relu' }) }),
    [2, 3, 4],
    '_FusedMatMul',
  ],
  'dense within a model': [
    () => tf.sequential({ layers: [tf.layers.dense({ units: 2, activation: 'relu', inputShape: [4] })] }),
    [2, 4],
    '_FusedMatMul',
  ],
};

describe('in training', () => {
  it.each(Object.entries(FUSED))('%s is fused', async (_, [make, shape, kernel]) => {
    const layer = make();
    const plain = await kernelsOf(layer, shape);
    fuse(layer);
    const fused = await kernelsOf(layer, shape);
    expect(fused).toContain(kernel);
    expect(fused.length).toBeLessThan(plain.length);
    layer.dispose();
  });

  it.each<readonly [string, () => tf.layers.Layer, number[]]>([
    ['dense with another activation', () => tf.layers.dense({ units: 2, activation: 'selu' }), [3, 4]],
    [
      'conv2d with the channels first',
      () => tf.layers.conv2d({ filters: 2, kernelSize: 3, dataFormat: 'channelsFirst' }),
      [2, 3, 5, 5],
    ],
    ['dropout with a seed', () => tf.layers.dropout({ rate: 0.5, seed: 3 }), [4, 3]],
    [
      'lstm with dropout between steps',
      () => tf.layers.lstm({ units: 2, recurrentDropout: 0.5, ...WEIGHTS }),
      [2, 3, 4],
    ],
  ])('%s is not fused', async (_, make, shape) => {
    const layer = make();
    const plain = await kernelsOf(layer, shape);
    fuse(layer);
    expect(await kernelsOf(layer, shape)).toEqual(plain);
    layer.dispose();
  });
});

describe('layers', () => {
  class Dense extends tf.layers.Layer {
    static readonly className = 'Dense';
    override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
      return tf.mul([inputs].flat()[0]!, 3);
    }
  }
  const DenseOfTfjs = tf.layers.dense({ units: 1 }).constructor as new (args: object) => tf.layers.Layer;
  class Doubled extends DenseOfTfjs {
    static readonly className = 'Dense';
    override call(inputs: tf.Tensor | tf.Tensor[], kwargs: object): tf.Tensor {
      return tf.mul(super.call(inputs, kwargs as never) as tf.Tensor, 2);
    }
  }

  it.each([
    ['of a class of the same name', new Dense()],
    ['of a subclass of the same name', new Doubled({ units: 2, activation: 'relu' })],
  ])('%s are not fused', (_, layer) => {
    fuse(layer);
    expect(Object.hasOwn(layer, 'call')).toBe(false);
  });

  it('with a replaced call are not fused', () => {
    const layer = tf.layers.dense({ units: 2, activation: 'relu' });
    const call = layer.call.bind(layer);
    layer.call = call;
    fuse(layer);
    expect(layer.call).toBe(call);
  });

  it('are restored', () => {
    const layer = tf.layers.dense({ units: 2 });
    fuse(layer);
    expect(Object.hasOwn(layer, 'call')).toBe(true);
    undos.splice(0).forEach((undo) => undo());
    expect(Object.hasOwn(layer, 'call')).toBe(false);
  });

  it('have second derivatives', () => {
    const layer = tf.layers.dense({ units: 3, activation: 'relu', inputShape: [2] });
    const x = tf.tensor2d([
      [0.3, -0.8],
      [0.1, 0.5],
    ]);
    const second = () =>
      tf.grad((x) =>
        tf
          .grad((x) => (layer.apply(x) as tf.Tensor).square().sum())(x)
          .square()
          .sum(),
      )(x);
    const expected = second();
    fuse(layer);
    expectClose(second().arraySync(), expected.arraySync());
  });

  it('compute with tfjs operators on another backend', async () => {
    const layer = tf.layers.lstm({ units: 2, ...WEIGHTS });
    const x = tf.ones([1, 2, 3]);
    const expected = await callOf(layer)(x, true).data();
    fuse(layer);
    await tf.setBackend('cpu');
    expectClose(await callOf(layer)(x, true).data(), expected);
    layer.dispose();
  });
});

describe('dropout in training', () => {
  it('drops and scales in training, and does nothing in prediction', () => {
    const layer = tf.layers.dropout({ rate: 0.25 });
    fuse(layer);
    const x = tf.ones([10_000]);
    const y = callOf(layer)(x, true).dataSync();
    const dropped = y.filter((value) => value === 0).length;
    expect(Math.abs(dropped / y.length - 0.25)).toBeLessThan(0.03);
    expectClose([...new Set(y)].sort(), [0, 4 / 3]);
    expect(new Set(callOf(layer)(x, false).dataSync())).toEqual(new Set([1]));
  });
});
