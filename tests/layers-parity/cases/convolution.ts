import type * as tf from '@tensorflow/tfjs';
import type { LayerCase, LayerCases } from '../layer-case.js';
import { Scale } from '../scale.js';

const conv = { filters: 3, kernelSize: 3 };

const fixed = { trainable: false };

/**
 * tfjs has no gradient of these layers (dilated, or transposed in 3-D), so only the layers after
 * them are trained.
 */
function untrained(input: readonly number[], make: (l: typeof tf.layers) => tf.layers.Layer): LayerCase {
  return { inputs: [input], scaled: false, make: (l) => [make(l), new Scale()] };
}

export const CONVOLUTIONS: LayerCases = {
  conv1d: { inputs: [[8, 2]], make: (l) => l.conv1d(conv) },
  'conv1d, dilated': untrained([8, 2], (l) => l.conv1d({ ...conv, ...fixed, dilationRate: 2 })),
  'conv1d, same, strided, relu': {
    inputs: [[9, 2]],
    make: (l) => l.conv1d({ ...conv, padding: 'same', strides: 2, activation: 'relu' }),
  },
  conv2d: { inputs: [[6, 5, 2]], make: (l) => l.conv2d(conv) },
  'conv2d, same, strided, relu': {
    inputs: [[6, 5, 2]],
    make: (l) => l.conv2d({ ...conv, padding: 'same', strides: [2, 1], activation: 'relu' }),
  },
  'conv2d, no bias, tanh': {
    inputs: [[7, 7, 2]],
    make: (l) => l.conv2d({ ...conv, useBias: false, activation: 'tanh' }),
  },
  'conv2d, dilated': untrained([7, 7, 2], (l) => l.conv2d({ ...conv, ...fixed, dilationRate: 2 })),
  'conv2d, 1 by 1, relu6': {
    inputs: [[4, 4, 3]],
    make: (l) => l.conv2d({ filters: 2, kernelSize: 1, activation: 'relu6' }),
  },
  'conv2d, 2 by 3, same': {
    inputs: [[5, 6, 1]],
    make: (l) => l.conv2d({ filters: 2, kernelSize: [2, 3], padding: 'same' }),
  },
  'conv2d, channels first': {
    inputs: [[2, 6, 5]],
    make: (l) => l.conv2d({ ...conv, dataFormat: 'channelsFirst' }),
  },
  'conv2d, two of them': {
    inputs: [[8, 8, 1]],
    make: (l) => [l.conv2d({ ...conv, activation: 'relu' }), l.conv2d({ ...conv, padding: 'same' })],
  },
  conv2dTranspose: { inputs: [[4, 3, 2]], make: (l) => l.conv2dTranspose(conv) },
  'conv2dTranspose, same, strided': {
    inputs: [[4, 3, 2]],
    make: (l) => l.conv2dTranspose({ ...conv, padding: 'same', strides: 2, activation: 'relu' }),
  },
  'conv2dTranspose, channels first': {
    inputs: [[2, 4, 3]],
    make: (l) => l.conv2dTranspose({ ...conv, dataFormat: 'channelsFirst' }),
  },
  conv3d: { inputs: [[4, 5, 4, 2]], make: (l) => l.conv3d(conv) },
  'conv3d, same, strided, relu': {
    inputs: [[4, 5, 4, 2]],
    make: (l) => l.conv3d({ ...conv, padding: 'same', strides: 2, activation: 'relu' }),
  },
  conv3dTranspose: untrained([3, 2, 3, 2], (l) => l.conv3dTranspose({ ...conv, ...fixed })),
  'conv3dTranspose, same, strided': untrained([2, 2, 3, 2], (l) =>
    l.conv3dTranspose({ ...conv, ...fixed, padding: 'same', strides: 2 }),
  ),
  separableConv2d: { inputs: [[5, 5, 2]], make: (l) => l.separableConv2d(conv) },
  'separableConv2d, same, several a channel': {
    inputs: [[5, 5, 2]],
    make: (l) => l.separableConv2d({ ...conv, padding: 'same', depthMultiplier: 2, activation: 'relu' }),
  },
  depthwiseConv2d: { inputs: [[5, 5, 2]], make: (l) => l.depthwiseConv2d({ kernelSize: 3 }) },
  'depthwiseConv2d, same, strided, several a channel': {
    inputs: [[6, 6, 3]],
    make: (l) => l.depthwiseConv2d({ kernelSize: 3, padding: 'same', strides: 2, depthMultiplier: 2 }),
  },
  cropping2D: {
    inputs: [[6, 5, 2]],
    make: (l) =>
      l.cropping2D({
        cropping: [
          [1, 2],
          [0, 1],
        ],
      }),
  },
  'cropping2D, channels first': {
    inputs: [[2, 5, 6]],
    make: (l) => l.cropping2D({ cropping: 1 as never, dataFormat: 'channelsFirst' }),
  },
  zeroPadding2d: { inputs: [[3, 4, 2]], make: (l) => l.zeroPadding2d({ padding: [1, 2] }) },
  'zeroPadding2d, each side its own, channels first': {
    inputs: [[2, 3, 4]],
    make: (l) =>
      l.zeroPadding2d({
        padding: [
          [1, 0],
          [2, 3],
        ],
        dataFormat: 'channelsFirst',
      }),
  },
  // On tfjs's cpu backend, the gradient of nearest-neighbour resizing is right for the first sample
  // only.
  upSampling2d: { inputs: [[3, 2, 2]], batch: 1, make: (l) => l.upSampling2d({ size: [2, 3] }) },
  'upSampling2d, channels first': {
    inputs: [[2, 3, 4]],
    batch: 1,
    make: (l) => l.upSampling2d({ size: [2, 2], dataFormat: 'channelsFirst' }),
  },
  // The gradient of bilinear interpolation has height and width exchanged in its shape.
  'upSampling2d, bilinear': {
    inputs: [[4, 4, 2]],
    make: (l) => l.upSampling2d({ size: [2, 3], interpolation: 'bilinear' }),
  },
};
