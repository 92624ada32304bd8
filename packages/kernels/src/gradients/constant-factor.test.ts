import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryStats } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';

const x = () => tf.sin(tf.range(1, 1025)).add(2);
const CASES: Readonly<Record<string, (t: tf.Tensor) => tf.Tensor>> = {
  'times a number': (t) => t.mul(0.3),
  'a number times it': (t) => tf.mul(0.3, t),
  'divided by a number': (t) => t.div(7),
};

beforeAll(() => registerAccBackend());
beforeEach(() => tf.setBackend('acc'));

/** Bytes that remain for the gradient of `f`. */
function saved(f: (t: tf.Tensor) => tf.Tensor): number {
  let bytes = 0;
  tf.tidy(() => {
    tf.grad((t) => {
      const before = memoryStats().allocatedBytes;
      const z = tf.tidy(() => f(t.add(0)).sum());
      bytes = memoryStats().allocatedBytes - before;
      return z;
    })(x());
  });
  return bytes;
}

describe('a tensor that is multiplied or divided by a number', () => {
  it.each(Object.entries(CASES))('is not saved, and its gradient is that of cpu: %s', async (_, f) => {
    expect(saved(f)).toBeLessThan(4 * 1024);
    await expectSameAsCpu(() => tf.grad((t) => f(t.square()).sum())(x()));
  });

  it('is saved if the number is a tensor from outside, whose gradient may be requested', async () => {
    const c = tf.scalar(0.3);
    expect(saved((t) => t.mul(c))).toBeGreaterThanOrEqual(4 * 1024);
    for (const i of [0, 1]) {
      await expectSameAsCpu(
        () => tf.grads((t, n) => t!.square().mul(n!).add(t!.div(n!)).sum())([x(), tf.scalar(0.3)])[i]!,
      );
    }
  });

  it('is saved in a gradient within a gradient', () =>
    expectSameAsCpu(() =>
      tf.grad((t) => {
        const n = tf.scalar(3);
        const [inner] = tf.grads((u, m) => u!.mul(m!).square().sum())([t, n]);
        const [, ofNumber] = tf.grads((u, m) => u!.mul(m!).square().sum())([t, n]);
        return inner!.mul(ofNumber!).sum();
      })(tf.tensor1d([1, 2, -3])),
    ));

  it('is saved if a variable has the number', () => {
    const v = tf.variable(tf.scalar(5));
    const { grads } = tf.variableGrads(() => {
      v.assign(tf.scalar(2));
      return tf.tensor1d([1, 2, 3]).mul(v).square().sum() as tf.Scalar;
    }, [v]);
    expect(grads[v.name]!.dataSync()[0]).toBe(2 * 2 * 14);
    v.dispose();
  });
});
