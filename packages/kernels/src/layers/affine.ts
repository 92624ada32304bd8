import {
  _FusedMatMul,
  conv2d,
  engine,
  FusedConv2D,
  matMul,
  reshape,
  type NamedAttrMap,
  type NamedTensorMap,
  type Tensor,
  type Tensor2D,
  type Tensor4D,
} from '@tensorflow/tfjs-core';
import type { AffineAttrs } from './affine-gradients.js';
import type { AccLayerCall } from './acc-layer-call.js';
import type { Conv2DLayer, DenseLayer, LayerVariable } from '@acc/tfjs-internals';

export const callDense: AccLayerCall<DenseLayer> = (layer, x, kwargs) => {
  const activation = fusedActivation(layer.activation?.getClassName() ?? 'linear');
  if (!activation) return undefined;
  layer.invokeCallHook(x, kwargs);
  const weight = layer.kernel.read();
  const [inputs, units] = weight.shape as [number, number];
  const rows = x.rank === 2 ? x : reshape(x, [-1, inputs]);
  const y =
    activation === 'linear' && !layer.bias
      ? matMul(rows as Tensor2D, weight)
      : run(
          _FusedMatMul,
          { a: rows, b: weight, ...biasOf(layer) },
          {
            transposeA: false,
            transposeB: false,
            activation,
          },
        );
  return x.rank === 2 ? y : reshape(y, [...x.shape.slice(0, -1), units]);
};

export const callConv2d: AccLayerCall<Conv2DLayer> = (layer, x) => {
  const activation = fusedActivation(layer.activation?.getClassName() ?? 'linear');
  const { padding, strides, dilationRate } = layer;
  const isPlain = layer.dataFormat === 'channelsLast' && x.rank === 4;
  if (!activation || !isPlain || padding === 'causal') return undefined;
  const filter = layer.kernel.read();
  if (activation === 'linear' && !layer.bias) {
    return conv2d(x as Tensor4D, filter as Tensor4D, strides, padding, 'NHWC', dilationRate);
  }
  const attrs = { strides, pad: padding, dataFormat: 'NHWC', dilations: dilationRate, activation };
  return run(FusedConv2D, { x, filter, ...biasOf(layer) }, attrs);
};

const fusedActivation = (name: string): AffineAttrs['activation'] | undefined =>
  name === 'linear' || name === 'relu' ? name : undefined;

const biasOf = ({ bias }: { readonly bias: LayerVariable | null }): Record<string, Tensor> =>
  bias ? { bias: bias.read() } : {};

function run(kernelName: string, inputs: Record<string, Tensor>, attrs: object): Tensor {
  return engine().runKernel(kernelName, inputs as NamedTensorMap, attrs as NamedAttrMap) as Tensor;
}
