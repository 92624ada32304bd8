// One forward and backward pass of a layer of experts on the mesh { expert: -1 }. Returns the bytes that this
// rank's group has counted in each part of it.
import { localPartOf } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { moe } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface Dispatch {
  readonly tokensPerExpert: readonly number[];
  readonly toExperts: number;
  readonly back: number;
  readonly backward: number;
}

const [EXPERTS, TOP_K, WIDTH] = [6, 2, 10];

interface Experts {
  run(rows: tf.Tensor2D, counts: readonly number[]): tf.Tensor2D;
}

export default async function traffic(): Promise<Dispatch> {
  const accelerator = await Accelerator.create({ mesh: { expert: -1 } });
  // The losses of the router would need a loss of the training.
  const args = { experts: EXPERTS, topK: TOP_K, balanceLoss: 0, zLoss: 0 };
  const layer = moe({ ...args, innerUnits: 8, inputShape: [WIDTH] });
  const model = tf.sequential({ layers: [layer] });
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare(model, optimizer);
  const kernel = layer.weights.find(({ originalName }) => originalName.includes('c_fc/kernel'))!;
  const { group } = localPartOf(kernel.read())!;
  let last = 0;
  const sinceLast = () => {
    const before = last;
    last = group.traffic!.bytes;
    return last - before;
  };
  const [, experts] = (layer as unknown as { layers: [unknown, Experts] }).layers;
  const run = experts.run.bind(experts);
  let toExperts = 0;
  experts.run = (rows, counts) => {
    toExperts = sinceLast();
    return run(rows, counts);
  };
  let back = 0;
  // Each rank has another number of tokens.
  const rank = accelerator.processIndex;
  const x = tf.randomNormal([7 + 4 * rank, WIDTH], 0, 1, 'float32', rank);
  sinceLast();
  tf.grad((given: tf.Tensor) => {
    const y = layer.apply(given, { training: true }) as tf.Tensor;
    back = sinceLast();
    return tf.sum(tf.square(y));
  })(x);
  const backward = sinceLast();
  const { tokensPerExpert } = layer;
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return { tokensPerExpert, toExperts, back, backward };
}
