// A program of a user of tfjs-node: it computes before `create` and never calls tf.setBackend.
import * as tf from '@tensorflow/tfjs-node';
import { Accelerator } from '@acc/core';

const w = tf.variable(tf.tensor1d([1, 2, 3]));
const top = [...tf.topk(tf.tensor1d([3, 1, 2]), 2).values.dataSync()];
const accelerator = await Accelerator.create(JSON.parse(process.argv[2] ?? '{}'));
const optimizer = accelerator.prepare(tf.train.sgd(0.5));
optimizer.minimize(() => w.square().sum());
const { backendName } = accelerator;
console.log(JSON.stringify({ backendName, top, weights: [...w.dataSync()] }));
await accelerator.endTraining();
