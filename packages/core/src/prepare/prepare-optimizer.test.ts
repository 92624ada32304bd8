import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { adamw } from '../index.js';

let accelerator: Accelerator | undefined;
afterEach(() => accelerator?.freeMemory());

const TARGET = [1, -2, 3];

/**
 * Trains towards {@link TARGET} with Adam. The optimizer is prepared in steps for which
 * `isPrepared` returns true.
 */
async function train(isPrepared: (step: number) => boolean): Promise<number[]> {
  const w = tf.variable(tf.zeros([3]));
  const optimizer = tf.train.adam(0.1);
  for (let step = 0; step < 9; step++) {
    accelerator = await Accelerator.create();
    if (isPrepared(step)) accelerator.prepare([w], optimizer);
    optimizer.minimize(() => tf.sum(tf.square(tf.sub(w, TARGET))) as tf.Scalar, false, [w]);
    accelerator.freeMemory();
  }
  expect(optimizer.iterations).toBe(9);
  return [...w.dataSync()];
}

it('an optimizer takes the same steps prepared, unprepared, and alternating', async () => {
  const plain = await train(() => false);
  for (const isPrepared of [() => true, (step: number) => step % 3 === 1]) {
    (await train(isPrepared)).forEach((x, i) => expect(x).toBeCloseTo(plain[i]!, 6));
  }
});

it('plugins see a step in place like any other', async () => {
  const steps: number[] = [];
  accelerator = await Accelerator.create({
    plugins: [
      {
        name: 'double',
        transform(grads) {
          for (const [name, grad] of Object.entries(grads)) {
            grads[name] = tf.mul(grad, 2);
            grad.dispose();
          }
        },
        afterStep: ({ step }) => void steps.push(step),
      },
    ],
  });
  const w = tf.variable(tf.scalar(0));
  const [optimizer] = [accelerator.prepare(tf.train.sgd(0.25))];
  for (let i = 0; i < 2; i++) optimizer.applyGradients([{ name: w.name, tensor: tf.scalar(1) }]);
  expect(w.dataSync()[0]).toBe(-1);
  expect(steps).toEqual([0, 1]);
});

it("an optimizer of the user's own class keeps its own update", async () => {
  accelerator = await Accelerator.create();
  class Backwards extends tf.SGDOptimizer {
    override applyGradients(grads: tf.NamedTensorMap): void {
      super.applyGradients(Object.fromEntries(Object.entries(grads).map(([name, x]) => [name, tf.neg(x)])));
    }
  }
  const w = tf.variable(tf.scalar(0));
  accelerator.prepare(new Backwards(1)).applyGradients({ [w.name]: tf.scalar(1) });
  expect(w.dataSync()[0]).toBe(1);
  const other = tf.variable(tf.scalar(1));
  accelerator
    .prepare(adamw({ learningRate: 0.5, weightDecay: 1 }))
    .applyGradients({ [other.name]: tf.scalar(1) });
  expect(other.dataSync()[0]).toBeCloseTo(0, 6);
});
