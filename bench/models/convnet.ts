import { classifier } from './classifier.js';
import type { BenchModel, Tf } from './model.js';

export interface ConvnetSizes {
  /** Height and width of the grey image, in pixels. */
  readonly image: number;
  readonly channels: readonly [number, number];
  readonly kernel: number;
  readonly hidden: number;
  readonly classes: number;
}

/**
 * The MNIST convnet of McMahan et al. 2017 (arXiv:1602.05629, section 3: two 5×5 convolutions, each with 2×2 max
 * pooling, and a hidden layer of 512; 1,663,370 parameters), with dropout before both dense layers.
 */
export function createConvnet(tf: Tf, sizes: ConvnetSizes): BenchModel {
  const { image, channels, kernel: kernelSize, hidden, classes } = sizes;
  const inputShape = [image, image, 1];
  const conv = { kernelSize, padding: 'same', activation: 'relu' } as const;
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({ ...conv, filters: channels[0], inputShape }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.conv2d({ ...conv, filters: channels[1] }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.dropout({ rate: 0.25 }),
      tf.layers.flatten(),
      tf.layers.dense({ units: hidden, activation: 'relu' }),
      tf.layers.dropout({ rate: 0.5 }),
      tf.layers.dense({ units: classes }),
    ],
  });
  return classifier(tf, model, { inputShape, classes });
}
