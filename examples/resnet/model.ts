import * as tf from '@tensorflow/tfjs';
import { CLASSES, SIDE } from './images.js';

/**
 * A residual network for CIFAR's images (He et al., "Deep Residual Learning for Image Recognition",
 * 2016, section 4.2): three stages of `blocks` blocks each, 6 · `blocks` + 2 layers. Shortcuts
 * between stages are 1 × 1 convolutions.
 *
 * @param width The number of channels of the first stage: 16 in the paper.
 */
export function createResNet(blocks: number, width = 16): tf.LayersModel {
  const input = tf.input({ shape: [SIDE, SIDE, 3] });
  let x = convolution(input, width, 3, 1, true);
  for (const [stage, filters] of [width, 2 * width, 4 * width].entries()) {
    for (let block = 0; block < blocks; block++) {
      x = residual(x, filters, stage > 0 && block === 0 ? 2 : 1);
    }
  }
  const features = tf.layers.globalAveragePooling2d({ dataFormat: 'channelsLast' }).apply(x);
  const logits = tf.layers.dense({ units: CLASSES }).apply(features) as tf.SymbolicTensor;
  return tf.model({ inputs: input, outputs: logits });
}

/** Two convolutions, to which the input is added. */
function residual(input: tf.SymbolicTensor, filters: number, strides: number): tf.SymbolicTensor {
  const isSameShape = strides === 1 && input.shape.at(-1) === filters;
  const shortcut = isSameShape ? input : convolution(input, filters, 1, strides, false);
  const inner = convolution(input, filters, 3, strides, true);
  const sum = tf.layers.add().apply([convolution(inner, filters, 3, 1, false), shortcut]);
  return tf.layers.reLU().apply(sum) as tf.SymbolicTensor;
}

function convolution(
  input: tf.SymbolicTensor,
  filters: number,
  kernelSize: number,
  strides: number,
  hasRelu: boolean,
): tf.SymbolicTensor {
  const settings = { filters, kernelSize, strides, padding: 'same', useBias: false } as const;
  const convolved = tf.layers.conv2d({ ...settings, kernelInitializer: 'heNormal' }).apply(input);
  const normal = tf.layers.batchNormalization({ momentum: 0.9 }).apply(convolved) as tf.SymbolicTensor;
  return hasRelu ? (tf.layers.reLU().apply(normal) as tf.SymbolicTensor) : normal;
}
