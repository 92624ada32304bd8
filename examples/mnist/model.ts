import * as tf from '@tensorflow/tfjs';
import { IMAGE_SHAPE } from './digits.js';

/** A small convnet with 46,730 parameters. It gives the logits of the ten digits. */
export function createModel(): tf.LayersModel {
  return tf.sequential({
    layers: [
      tf.layers.conv2d({ inputShape: [...IMAGE_SHAPE], filters: 16, kernelSize: 5, activation: 'relu' }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.conv2d({ filters: 32, kernelSize: 5, activation: 'relu' }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.dropout({ rate: 0.25 }),
      tf.layers.dense({ units: 64, activation: 'relu' }),
      tf.layers.dropout({ rate: 0.25 }),
      tf.layers.dense({ units: 10 }),
    ],
  });
}
