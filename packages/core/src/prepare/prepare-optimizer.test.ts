import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it, vi } from 'vitest';
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

describe('one optimizer for two variables in turn', () => {
  /** The variables after nine steps of each. `trained` is prepared, and names the optimizer of each variable. */
  async function inTurn(options: { engine: 'acc' | 'tfjs' }, trained: readonly tf.Optimizer[]) {
    accelerator = await Accelerator.create(options);
    accelerator.prepare(...new Set(trained));
    const variables = [3, 5].map((scale) => tf.variable(tf.mul(TARGET, scale)));
    for (let step = 0; step < 9; step++)
      variables.forEach((w, i) =>
        trained[i]!.minimize(() => tf.sum(tf.square(tf.sub(w, TARGET))) as tf.Scalar, false, [w]),
      );
    const values = variables.map((w) => [...w.dataSync()]);
    accelerator.freeMemory();
    tf.dispose(variables);
    return values;
  }
  const twice = <T>(x: T): [T, T] => [x, x];
  const makers = {
    momentum: () => tf.train.momentum(0.05, 0.9),
    adam: () => tf.train.adam(0.1),
    rmsprop: () => tf.train.rmsprop(0.05, 0.9, 0.5),
  };

  it.each(Object.entries(makers))(
    '%s keeps state by variable on each engine, and warns once that tfjs does not',
    async (name, make) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
      const acc = await inTurn({ engine: 'acc' }, twice(make()));
      const tfjs = await inTurn({ engine: 'tfjs' }, twice(make()));
      const told = warn.mock.calls.filter(([text]) => /state by position/.test(String(text)));
      expect(told).toHaveLength(2);
      warn.mockClear();
      const apart = await inTurn({ engine: 'tfjs' }, [make(), make()]);
      expect(warn).not.toHaveBeenCalled();
      warn.mockRestore();
      tfjs.flat().forEach((x, i) => expect(x).toBeCloseTo(acc.flat()[i]!, 5));
      // The powers of beta belong to the optimizer, so Adam's steps are not those of two optimizers.
      if (name !== 'adam') expect(tfjs).toEqual(apart);
    },
  );
});
