// Training steps of a layer of experts with jitter on the mesh of the argument. Returns the numbers by
// which the router's input was multiplied in each call.
import { Accelerator, parallelize } from '@acc/core';
import { moe } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const OPTIONS = { experts: 2, topK: 1, jitter: 0.25, innerUnits: 4, sharedExperts: 1 };

export default async function jitter(mesh: Readonly<Record<string, number>>): Promise<number[][]> {
  const accelerator = await Accelerator.create({ mesh, seed: 3 });
  const layer = moe({ ...OPTIONS, inputShape: [4, 6] });
  const model = tf.sequential({ layers: [layer] });
  // The axis tensor cuts shared experts; its ranks compute the others alike.
  if (mesh['tensor']) parallelize(model, 'auto');
  const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
  const router = (layer as unknown as { layers: { call(x: tf.Tensor, kwargs: object): tf.Tensor }[] })
    .layers[0]!;
  const factors: number[][] = [];
  const call = router.call.bind(router);
  router.call = (given, kwargs) => {
    factors.push(Array.from(given.dataSync()));
    return call(given, kwargs);
  };
  const x = tf.ones([2, 4, 6]);
  for (let step = 0; step < 2; step++) {
    optimizer.minimize(() => tf.mean(tf.square(model.apply(x, { training: true }) as tf.Tensor)));
  }
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return factors;
}
