import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lossSeed } from '@acc/contract';
import { installGradientDriver } from './driver.js';
import { runForward } from './taped-forward.js';

let weight = 1;
let restore: () => void;

beforeAll(() => {
  restore = installGradientDriver({
    begin: () => ({ indices: [], weight, ready: () => {}, finish: () => [] }),
  });
});
afterAll(() => restore());

/** A function that notes the seed in its gradient. */
function noting(seen: number[]): (x: tf.Tensor) => tf.Tensor {
  return tf.customGrad((x) => ({
    value: tf.clone(x as tf.Tensor),
    gradFunc: (dy: tf.Tensor) => {
      const seed = lossSeed();
      seen.push(typeof seed === 'number' ? seed : seed.dataSync()[0]!);
      return tf.clone(dy);
    },
  }));
}

it('is the weight of the pass, times the gradient that the caller gives', () => {
  const seen: number[] = [];
  const loss = (x: tf.Tensor) => tf.sum(noting(seen)(x));
  const x = tf.tensor1d([1, 2]);
  weight = 0.25;
  tf.grad(loss)(x);
  tf.grad(loss)(x, tf.scalar(4));
  weight = 1;
  expect(seen).toEqual([0.25, 1]);
});

it('is 0 in a gradient inside another one, and 1 outside of passes', () => {
  const seen: number[] = [];
  const inner = tf.grad((x: tf.Tensor) => tf.sum(noting(seen)(x)));
  tf.grad((x: tf.Tensor) => tf.sum(tf.mul(inner(x), x)))(tf.tensor1d([1, 2]));
  expect(seen[0]).toBe(0);
  expect(lossSeed()).toBe(1);
});

it('is what the caller of a backward pass on its own says, and refused without', () => {
  const seen: number[] = [];
  const x = tf.tensor1d([1, 2]);
  const pass = () => runForward(() => noting(seen)(x), [x], {});
  pass().backward([tf.ones([2])], 0.5);
  expect(seen).toEqual([0.5]);
  const code = 'ACC_LOSS_SEED_UNKNOWN';
  expect(() => pass().backward([tf.ones([2])])).toThrowError(expect.objectContaining({ code }));
});
