import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => accelerator.freeMemory());

it('x', () => {
  const weight = tf.variable(tf.randomNormal([8, 8], 0, 1, 'float32', 3));
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(optimizer);
  const step = accelerator.compile((x: tf.Tensor2D) => {
    const loss = () => {
      const h = tf.matMul<tf.Tensor2D>(x, weight as unknown as tf.Tensor2D);
      const { mean, variance } = tf.moments(h, -1, true);
      const normalized = h.sub(mean).div(variance.add(1e-5).sqrt());
      return normalized.tanh().sub(x).square().mean().asScalar();
    };
    return optimizer.minimize(loss, true, [weight])!;
  }, {fuse: true});
  const x = tf.randomNormal<tf.Rank.R2>([16, 8], 0, 1, 'float32', 5);
  for (let i=0;i<8;i++) step(x).dispose();
  console.log(step.explain());
});
