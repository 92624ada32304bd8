import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { liveTensors } from '@acc/native';
import { expectSameAsCpu } from '../testing/compare.js';

type Loss = typeof tf.losses.softmaxCrossEntropy;
// Looked up in each run, because the backend replaces the losses when it starts.
const LOSSES: Record<string, () => Loss> = {
  softmaxCrossEntropy: () => tf.losses.softmaxCrossEntropy,
  sigmoidCrossEntropy: () => tf.losses.sigmoidCrossEntropy as Loss,
};

const logits = () => tf.sin(tf.range(0, 12)).mul(20).reshape([4, 3]) as tf.Tensor2D;
const labels = () => tf.softmax(tf.cos(tf.range(0, 12)).reshape([4, 3])) as tf.Tensor2D;
const oneHot = () => tf.oneHot(tf.tensor1d([2, 0, 1, 1], 'int32'), 3) as tf.Tensor2D;

describe.each(Object.entries(LOSSES))('%s', (name, loss) => {
  const cases: Record<string, () => tf.Tensor> = {
    mean: () => loss()(labels(), logits()),
    'labels that are whole numbers': () => loss()(oneHot(), logits()),
    'labels in an array': () => loss()(oneHot().arraySync(), logits()),
    'extreme logits': () => loss()(labels(), logits().mul(1000)),
    'logits of one dimension': () =>
      loss()(labels().slice([0, 0], [1, 3]).flatten(), logits().slice([0, 0], [1, 3]).flatten()),
    smoothing: () => loss()(labels(), logits(), undefined, 0.1),
    sum: () => loss()(labels(), logits(), undefined, 0, tf.Reduction.SUM),
    'mean by name': () => loss()(labels(), logits(), undefined, 0, tf.Reduction.MEAN),
    each: () => loss()(labels(), logits(), undefined, 0, tf.Reduction.NONE),
    'a weight for all': () => loss()(labels(), logits(), tf.scalar(0.3)),
  };
  if (name === 'softmaxCrossEntropy') {
    cases['a weight each'] = () => loss()(labels(), logits(), tf.tensor1d([0, 1, 2, 0.5]));
    cases['weights in an array'] = () => loss()(labels(), logits(), [0, 1, 2, 0.5]);
  }

  it.each(Object.entries(cases))("has cpu's values: %s", (_, compute) => expectSameAsCpu(compute));

  it.each([
    ['mean', undefined, undefined],
    ['each', undefined, tf.Reduction.NONE],
    ['weights', 0.7, tf.Reduction.SUM],
  ])("has cpu's gradients: %s", (_, weight, reduction) =>
    expectSameAsCpu(() =>
      tf.grads((l, x) => {
        const weights = weight === undefined ? undefined : tf.scalar(weight);
        return loss()(l!, x!, weights, 0.05, reduction).mul(3).sum();
      })([labels(), logits()]),
    ),
  );

  it('refuses different shapes as tfjs does', async () => {
    await tf.setBackend('acc');
    expect(() => loss()(tf.zeros([2, 3]), tf.zeros([3, 2]))).toThrow(/must match/);
  });

  it('can be differentiated again', () =>
    expectSameAsCpu(() => {
      const first = tf.grad((x) => loss()(labels(), x));
      return name === 'softmaxCrossEntropy'
        ? first(logits())
        : tf.grad((x) => first(x).square().sum())(logits().mul(0.1));
    }));

  it('leaves nothing behind', async () => {
    await tf.setBackend('acc');
    const [l, x] = [labels(), logits()];
    const step = () => tf.tidy(() => tf.grad((t) => loss()(l, t))(x)).dispose();
    step();
    const before = { tensors: tf.memory().numTensors, handles: liveTensors() };
    step();
    expect({ tensors: tf.memory().numTensors, handles: liveTensors() }).toEqual(before);
  });
});
