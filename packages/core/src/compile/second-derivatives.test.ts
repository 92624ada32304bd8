import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CompileOptions } from '@acc/compile';
import { Accelerator } from '../accelerator.js';
import { relativeDifference } from './testing.js';

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => accelerator.freeMemory());

// Large enough that elementwise results of plain steps wait until they are read.
const [ROWS, WIDTH] = [1024, 64];

/** Trains with a penalty on the gradient of the output. Returns losses and weights. */
function train(options?: CompileOptions): { losses: number[]; weights: number[] } {
  const weight = tf.variable(tf.randomNormal<tf.Rank.R2>([WIDTH, WIDTH], 0, 0.1, 'float32', 3));
  const optimizer = tf.train.sgd(0.5);
  accelerator.prepare(optimizer);
  const output = (x: tf.Tensor) => tf.matMul(x as tf.Tensor2D, weight as tf.Tensor as tf.Tensor2D).tanh();
  const plain = (x: tf.Tensor2D) =>
    optimizer.minimize(
      () => {
        const slope = tf.grad((given: tf.Tensor) => output(given).sum())(x);
        const penalty = slope.square().sum(-1).sub(1).square().mean();
        return output(x).sub(x).square().mean().add(penalty).asScalar();
      },
      true,
      [weight],
    )!;
  const step = options ? accelerator.compile(plain, options) : plain;
  const x = tf.randomNormal<tf.Rank.R2>([ROWS, WIDTH], 0, 1, 'float32', 5);
  const losses = Array.from({ length: 8 }, () => tf.tidy(() => step(x).dataSync()[0]!));
  if (options) expect((step as ReturnType<typeof accelerator.compile>).replays).toBe(5);
  const weights = [...weight.dataSync()];
  tf.dispose([x, weight]);
  return { losses, weights };
}

it('replays second derivatives as plain steps compute them', () => {
  const plain = train();
  expect(plain.losses.at(-1)).toBeLessThan(plain.losses[0]!);
  for (const options of [{}, { fuse: false }, { fuse: 'exact' }] as const) {
    expect(train(options)).toEqual(plain);
  }
  const fused = train({ fuse: true });
  expect(relativeDifference(fused.losses, plain.losses)).toBeLessThan(1e-6);
  expect(relativeDifference(fused.weights, plain.weights)).toBeLessThan(1e-6);
});
