import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { installGradientDriver } from '@acc/tape';
import { engineInternals } from '@acc/tfjs-internals';
import { LossPath, type LossOrigin } from './follow-loss.js';

const ROWS = 3;
const x = tf.tensor2d([1, 2, 3, 4, 5, 6], [ROWS, 2]);
const mask = tf.tensor2d([1, 0, 1], [ROWS, 1]);
const known = new WeakSet<tf.Tensor>();
const knownMean = (values: tf.Tensor) => {
  const mean = tf.mean(values);
  known.add(mean);
  return mean;
};

/** The origin that is found for the loss of a linear model. */
function originOf(loss: (rows: tf.Tensor, w: tf.Variable) => tf.Tensor): LossOrigin {
  const w = tf.variable(tf.ones([2, 2]));
  let origin!: LossOrigin;
  const restore = installGradientDriver({
    begin(_, y) {
      const { activeTape } = engineInternals().state;
      origin = new LossPath(activeTape!, ROWS, (tensor) => known.has(tensor)).originOf(y);
      return undefined;
    },
  });
  try {
    const { value, grads } = tf.variableGrads(() => loss(tf.matMul(x, w), w).asScalar(), [w]);
    tf.dispose([value, grads]);
  } finally {
    restore();
    w.dispose();
  }
  return origin;
}

describe('the origin of a loss', () => {
  it.each<[string, (rows: tf.Tensor, w: tf.Variable) => tf.Tensor]>([
    ['a mean', (rows) => tf.mean(rows)],
    ['a mean of means', (rows) => tf.mean(tf.mean(tf.square(rows), 1))],
    ['a mean over rows, then a sum', (rows) => tf.sum(tf.mean(rows, 0))],
    ['a sum over a fixed number', (rows) => tf.div(tf.sum(rows), 6)],
    ['a sum times a fixed number', (rows) => tf.mul(0.5, tf.sum(rows))],
    [
      'means with a penalty and factors',
      (rows, w) => tf.add(tf.mul(tf.mean(rows), 2), tf.sqrt(tf.sum(tf.square(w)))),
    ],
    ['terms that are all means', (rows) => tf.sub(tf.mean(rows), tf.mean(tf.square(rows)))],
    ["tf.losses'", (rows) => tf.losses.meanSquaredError(x, rows)],
  ])('%s is a mean over rows', (_, loss) => {
    expect(originOf(loss)).toBe('mean');
  });

  it.each<[string, (rows: tf.Tensor, w: tf.Variable) => tf.Tensor]>([
    ['itself', (rows) => knownMean(rows)],
    ['reshaped, and scaled', (rows) => tf.mean(tf.mul(tf.neg(knownMean(rows)), 0.5))],
    ['with a penalty', (rows, w) => tf.add(knownMean(rows), tf.mul(0.01, tf.sum(tf.square(w))))],
  ])('a loss with a known weight is found: %s', (_, loss) => {
    expect(originOf(loss)).toHaveProperty('known');
  });

  it('a penalty on weights beside a known loss is recognised', () => {
    const penalty = (w: tf.Variable) => tf.sum(tf.square(w));
    expect(originOf((rows, w) => tf.add(knownMean(rows), penalty(w)))).toMatchObject({ hasPenalty: true });
    expect(originOf(knownMean)).not.toHaveProperty('hasPenalty');
  });

  it.each<[string, (rows: tf.Tensor) => tf.Tensor]>([
    ['masked mean', (rows) => tf.div(tf.sum(tf.mul(rows, mask)), tf.sum(mask))],
    [
      'is divided by a number that is computed',
      (rows) => tf.where(tf.greater(tf.sum(mask), 0), tf.div(tf.sum(rows), tf.sum(tf.relu(rows))), 0),
    ],
    ['Sqrt', (rows) => tf.sqrt(tf.mean(rows))],
    ['Sum', (rows) => tf.sum(tf.square(rows))],
    ['different items', (rows) => tf.add(knownMean(rows), tf.mean(rows))],
    ['product', (rows) => tf.mul(tf.mean(rows), tf.mean(tf.square(rows)))],
  ])('other losses get a reason: %s', (word, loss) => {
    expect(originOf(loss)).toEqual({ reason: expect.stringContaining(word) as string });
  });
});
