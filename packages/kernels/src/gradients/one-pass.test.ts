import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';

const x = () => tf.sin(tf.range(0, 48)).mul(10).reshape([2, 4, 6]);
const weights = () => tf.cos(tf.range(0, 48)).reshape([2, 4, 6]);
/** Values at bounds, kinks and poles. */
const EDGES = [-Infinity, -88, -6, -1, -0, 0, 1e-30, 0.5, 1, 6, 6.000001, 20, 21, 88, Infinity, NaN];

const CASES: Record<string, (t: tf.Tensor) => tf.Tensor> = {
  relu: (t) => tf.relu(t),
  relu6: (t) => tf.relu6(t),
  clipByValue: (t) => tf.clipByValue(t, -1, 0.5),
  'clipByValue at 0': (t) => tf.clipByValue(t, 0, 100),
  leakyRelu: (t) => tf.leakyRelu(t, 0.3),
  softplus: (t) => tf.softplus(t),
  sigmoid: (t) => tf.sigmoid(t),
  tanh: (t) => tf.tanh(t),
  softmax: (t) => tf.softmax(t),
};

describe('gradients that take one pass', () => {
  it.each(Object.entries(CASES))("have cpu's values: %s", (_, f) =>
    expectSameAsCpu(() => tf.grad((t) => f(t).mul(weights()).sum())(x())),
  );

  it.each(Object.entries(CASES).filter(([name]) => name !== 'softmax'))(
    "have cpu's values at the edges: %s",
    (name, f) => {
      // For NaN, the result is NaN, but libtorch's gradient is dy for relu and 0 for relu6.
      const edges = name.startsWith('relu') ? EDGES.filter((value) => !Number.isNaN(value)) : EDGES;
      return expectSameAsCpu(() => tf.grad((t) => f(t).sum())(tf.tensor1d(edges)));
    },
  );

  // tfjs has no second gradient for the others.
  it.each(['relu', 'softplus', 'sigmoid', 'tanh', 'softmax'])('can be differentiated again: %s', (name) =>
    expectSameAsCpu(() =>
      tf.grad((t) =>
        tf
          .grad((u) => CASES[name]!(u).square().sum())(t)
          .mul(weights())
          .sum(),
      )(x()),
    ),
  );

  it('are those of tfjs for integers', () =>
    expectSameAsCpu(() => tf.grad((t) => tf.relu(t).sum())(tf.tensor1d([-1, 0, 2], 'int32'))));
});

describe('pooling', () => {
  it('of one element a window does not affect the gradient of the pooling before it', () =>
    expectSameAsCpu(() =>
      tf.grad((t) => {
        const images = t.reshape([1, 6, 8, 1]) as tf.Tensor4D;
        return tf
          .maxPool(tf.maxPool(images, 2, 2, 'same'), 1, 1, 'same')
          .square()
          .sum();
      })(x()),
    ));

  it('keeps nothing of its maxima after its result is disposed', async () => {
    const { liveTensors } = await import('@acc/native');
    await tf.setBackend('acc');
    const images = x().reshape([1, 6, 8, 1]) as tf.Tensor4D;
    tf.maxPool(images, 2, 2, 'same').dispose();
    const before = liveTensors();
    tf.maxPool(images, 2, 2, 'same').dispose();
    expect(liveTensors()).toBe(before);
  });
});
