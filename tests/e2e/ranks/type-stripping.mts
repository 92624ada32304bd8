// Trains alone. Node.js can strip its types, because it has no syntax that needs a transformation.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';

const accelerator: Accelerator = await Accelerator.create();
const kernel = tf.ones([2, 1]);
const layer = tf.layers.dense({ units: 1, inputShape: [2], useBias: false, weights: [kernel] });
const [model, optimizer] = accelerator.prepare(tf.sequential({ layers: [layer] }), tf.train.sgd(0.25));
const xs: tf.Tensor2D = tf.tensor2d([[1, 2]]);
optimizer.minimize(() => tf.mean(model.apply(xs) as tf.Tensor) as tf.Scalar);
const weights: readonly number[] = [...model.getWeights()[0]!.dataSync()];
console.log(JSON.stringify({ backend: tf.getBackend(), weights }));
