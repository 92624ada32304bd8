import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkpoint } from '../activation-checkpointing/checkpoint.js';
import { installGradientDriver } from './driver.js';
import { currentPass } from './pass-context.js';
import { runForward } from './taped-forward.js';

let weight = 1;
let restore: () => void;

const drive = () =>
  installGradientDriver({
    begin: () => ({ indices: [], weight, ready: () => {}, finish: () => [] }),
  });
beforeAll(() => (restore = drive()));
afterAll(() => restore());

/** A function that adds a term to the loss and notes the gradient of the term. */
function noting(seen: number[]): (x: tf.Tensor) => tf.Tensor {
  const term = tf.customGrad((x) => ({
    value: tf.sum(x as tf.Tensor),
    gradFunc: (dy: tf.Tensor) => {
      seen.push(dy.dataSync()[0]!);
      return tf.zerosLike(x as tf.Tensor);
    },
  }));
  return (x) => currentPass()!.addLoss(x, term(x) as tf.Scalar);
}

it('the gradient of a term is the weight of the pass, times the gradient that the caller gives', () => {
  const seen: number[] = [];
  const loss = (x: tf.Tensor) => tf.sum(noting(seen)(x));
  const x = tf.tensor1d([1, 2]);
  weight = 0.25;
  expect(tf.grad(loss)(x).arraySync()).toEqual([0.25, 0.25]);
  tf.grad(loss)(x, tf.scalar(4));
  weight = 1;
  expect(seen).toEqual([0.25, 1]);
});

it('is 0 in a gradient inside another one, and that of the pass after it', () => {
  const seen: number[] = [];
  const inner = tf.grad((x: tf.Tensor) => tf.sum(noting(seen)(x)));
  const outer = (x: tf.Tensor) => tf.sum(noting(seen)(tf.mul(inner(x), x)));
  tf.grad(outer)(tf.tensor1d([1, 2]));
  expect(seen.slice(0, 2)).toEqual([0, 1]);
});

it('is 1 without a driver, and there is no pass where no gradient is computed', () => {
  restore();
  const seen: number[] = [];
  tf.grad((x: tf.Tensor) => tf.sum(noting(seen)(x)))(tf.tensor1d([1, 2]));
  restore = drive();
  expect(seen).toEqual([1]);
  expect(currentPass()).toBeUndefined();
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

it('belongs to one pass of several in flight, and tells whether layers have added terms', () => {
  const [ofFirst, ofSecond]: [number[], number[]] = [[], []];
  const x = tf.tensor1d([1, 2]);
  const first = runForward(() => noting(ofFirst)(x), [x], {});
  const second = runForward(() => noting(ofSecond)(x), [x], {});
  const without = runForward(() => tf.square(x), [x], {});
  const dys = [tf.ones([2])];
  without.backward(dys, 2);
  second.backward(dys, 3);
  expect([first, second, without].map(({ addsTerms }) => addsTerms)).toEqual([false, true, false]);
  first.backward(dys, 4);
  expect([ofFirst, ofSecond, first.addsTerms]).toEqual([[4], [3], true]);
});

it('is the same in both runs of an activation checkpoint, as is whether the pass is a trial', () => {
  const seen: number[] = [];
  const trials: (boolean | undefined)[] = [];
  const layer = (x: tf.Tensor) => {
    trials.push(currentPass()?.isTrial);
    return noting(seen)(x);
  };
  const x = tf.tensor1d([1, 2]);
  const pass = (isTrial: boolean) => runForward(() => checkpoint(layer, [x]), [x], {}, { isTrial });
  for (const isTrial of [true, false]) {
    const taped = pass(isTrial);
    taped.backward([tf.ones([2])], 0.5);
    expect([...trials.splice(0), taped.addsTerms]).toEqual([isTrial, isTrial, true]);
  }
  expect(seen).toEqual([0.5, 0.5]);
});
