import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { memoryStats, operatorInPlace } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';

const EXPONENTS = [0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7, -3];
const x = () => tf.tensor2d([0.25, 1, 2, 3.5, 0.01, 7], [2, 3]);
const negative = () => tf.tensor1d([-3, -1, -0.5, 2]);

const fill = operatorInPlace('aten::fill_.Scalar');

beforeAll(() => registerAccBackend());
beforeEach(() => tf.setBackend('acc'));

describe('a power by a constant', () => {
  it.each(EXPONENTS)("has cpu's value and gradients: %d", async (n) => {
    await expectSameAsCpu(() => x().pow(n));
    await expectSameAsCpu(() => tf.grad((t) => t.pow(n).mul(x()).sum())(x()));
    if (Number.isInteger(n)) await expectSameAsCpu(() => tf.grad((t) => t.pow(n).sum())(negative()));
  });

  it.each(EXPONENTS)('can be differentiated again: %d', (n) =>
    expectSameAsCpu(() =>
      tf.grad((t) =>
        tf
          .grad((u) => u.pow(n).sum())(t)
          .mul(x())
          .sum(),
      )(x()),
    ),
  );

  it.each([[[1]], [[1, 1, 1]]])('has the shape that broadcasting gives for an exponent %j', async (shape) => {
    await expectSameAsCpu(() => tf.scalar(3).pow(tf.scalar(2).reshape(shape)));
    await expectSameAsCpu(() => x().pow(tf.scalar(2).reshape(shape)));
    await expectSameAsCpu(() => tf.grad((t) => t.pow(tf.scalar(2).reshape(shape)).sum())(x()));
  });

  it('has a gradient for the exponent, too', () =>
    expectSameAsCpu(() => tf.grads((t, n) => t!.pow(n!).sum())([x(), tf.scalar(3)])[1]!));

  it('keeps no result for the gradient', () => {
    const heldBy = (n: tf.Tensor) => {
      let bytes = 0;
      tf.tidy(() => {
        tf.grad((t) => {
          const before = memoryStats().allocatedBytes;
          const y = t.pow(n);
          const z = y.add(0);
          y.dispose();
          bytes = memoryStats().allocatedBytes - before;
          return z.sum();
        })(tf.ones([1024]));
      });
      return bytes;
    };
    expect(heldBy(tf.fill([], 3)) - heldBy(tf.scalar(3))).toBe(4 * 1024);
  });
});

describe('an exponent that may change is read each time', () => {
  it('of a variable', () => {
    const n = tf.variable(tf.scalar(2));
    const three = tf.scalar(3);
    expect(tf.scalar(5).pow(n).dataSync()[0]).toBeCloseTo(25, 4);
    n.assign(three);
    expect(tf.scalar(5).pow(n).dataSync()[0]).toBeCloseTo(125, 3);
    const backend = tf.backend() as AccBackend;
    three.dispose();
    // Written in place, as an optimizer does.
    const native = backend.nativeToWrite(n)!;
    fill(native, 1);
    expect(tf.scalar(5).pow(n).dataSync()[0]).toBe(5);
    n.dispose();
  });

  it('of an argument of a recorded step, but not of a number in it', () => {
    const recorder = new StepRecorder(tf.backend() as AccBackend);
    const [base, exponent] = [tf.scalar(5), tf.scalar(2)];
    const { recording } = recorder.record([base, exponent], () => [
      tf.tidy(() => base.pow(exponent).add(base.pow(3))),
    ]);
    if (typeof recording === 'string') throw new Error(recording);
    recording.seal(false);
    const [result] = recording.replay([tf.scalar(2), tf.scalar(4)]) as tf.Tensor[];
    expect(result!.dataSync()[0]).toBeCloseTo(16 + 8, 4);
    recording.dispose();
  });
});
