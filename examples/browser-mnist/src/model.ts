import * as tf from '@tensorflow/tfjs';
import { SIDE } from './digits.js';

/** A small convnet. It gives the logits of the ten digits. */
export function createModel(): tf.LayersModel {
  const relu = { activation: 'relu' } as const;
  return tf.sequential({
    layers: [
      tf.layers.conv2d({ inputShape: [SIDE, SIDE, 1], filters: 8, kernelSize: 5, strides: 2, ...relu }),
      tf.layers.conv2d({ filters: 16, kernelSize: 3, strides: 2, ...relu }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 64, ...relu }),
      tf.layers.dense({ units: 10 }),
    ],
  });
}
