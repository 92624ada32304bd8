import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { Accelerator } from './accelerator.js';

const before = Error.stackTraceLimit;
afterEach(() => void (Error.stackTraceLimit = before));

describe('an error of an operator in a loss', () => {
  it("has the program's own line in its stack", async () => {
    Error.stackTraceLimit = 10;
    const accelerator = await Accelerator.create();
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
    const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.1));
    function wrongLoss(): tf.Scalar {
      return tf.matMul(tf.ones([2, 3]), model.predict(tf.ones([4, 2])) as tf.Tensor).mean();
    }
    function ownStep(): void {
      optimizer.minimize(wrongLoss);
    }
    let stack = '';
    try {
      ownStep();
    } catch (error) {
      stack = (error as Error).stack!;
    }
    accelerator.freeMemory();
    model.dispose();
    expect(stack).toContain('inner shapes (3) and (4)');
    expect(stack).toMatch(/at wrongLoss .*stack-depth\.test\.ts/);
    expect(stack).toMatch(/at ownStep .*stack-depth\.test\.ts/);
    expect(Error.stackTraceLimit).toBe(10);
  });

  it('keeps a stack depth that the program has set', async () => {
    Error.stackTraceLimit = 5;
    const accelerator = await Accelerator.create();
    expect(Error.stackTraceLimit).toBe(5);
    Error.stackTraceLimit = 33;
    accelerator.freeMemory();
    expect(Error.stackTraceLimit).toBe(33);
  });
});
