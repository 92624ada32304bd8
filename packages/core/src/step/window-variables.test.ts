import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

// Which variables the micro-batches of a window train.

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());
const create = async (options: AcceleratorOptions) =>
  (accelerator = await Accelerator.create({ engine: 'acc', ...options }));

it.each<[string, boolean, (w: tf.Variable, isOn: boolean) => void]>([
  ['frozen', false, (b, isOn) => (b.trainable = isOn)],
  ['left out of the list', true, () => undefined],
])('refuses a window in which a variable is %s, in each micro-batch of it', async (_, hasList, turn) => {
  await create({ gradientAccumulationSteps: 3 });
  for (const first of [0, 1]) {
    const [a, b] = [tf.variable(tf.scalar(0), true, 'a'), tf.variable(tf.scalar(0), true, 'b')];
    const [, optimizer] = accelerator.prepare([a, b], tf.train.sgd(1));
    const step = (isOn: boolean) => {
      turn(b, isOn);
      const list = isOn ? [a, b] : [a];
      return accelerator.accumulate(() =>
        optimizer.minimize(() => a.add(b) as tf.Scalar, false, hasList ? list : undefined),
      );
    };
    for (let i = 0; i <= first; i++) step(true);
    const changed = { code: 'ACC_ACCUMULATE_VARIABLES', details: { missing: ['b'], added: [] } };
    expect(() => step(false)).toThrowError(expect.objectContaining(changed) as Error);
    expect([a, b].map((variable) => variable.dataSync()[0])).toEqual([0, 0]);
    tf.dispose([a, b]);
    accelerator.freeMemory();
    await create({ gradientAccumulationSteps: 3 });
  }
  const [a, b] = [tf.variable(tf.scalar(0)), tf.variable(tf.scalar(0))];
  const [, optimizer] = accelerator.prepare([a, b], tf.train.sgd(1));
  for (const isOn of [true, true, true, false, false, false, true, true, true]) {
    turn(b, isOn);
    accelerator.accumulate(() =>
      optimizer.minimize(() => a.add(b) as tf.Scalar, false, hasList && !isOn ? [a] : undefined),
    );
  }
  expect([a, b].map((variable) => variable.dataSync()[0])).toEqual([-3, -2]);
});

it('adds several passes of a micro-batch that share some variables', async () => {
  await create({ gradientAccumulationSteps: 2 });
  const [a, b, c] = [1, 2, 3].map((x) => tf.variable(tf.scalar(x))) as [
    tf.Variable,
    tf.Variable,
    tf.Variable,
  ];
  const [, optimizer] = accelerator.prepare([a, b, c], tf.train.sgd(1));
  for (const x of [1, 3]) {
    accelerator.accumulate(() => {
      optimizer.minimize(() => a.add(b).mul(x) as tf.Scalar, false, [a, b]);
      optimizer.minimize(() => a.add(c).mul(2 * x) as tf.Scalar, false, [a, c]);
    });
  }
  expect([a, b, c].map((variable) => variable.dataSync()[0])).toEqual([1 - 2 - 4, 2 - 2, 3 - 4]);
});

it('refuses a loss for weighLoss that is not a tensor', async () => {
  await create({});
  const invalid = {
    code: 'ACC_INVALID_ARGUMENT',
    message: expect.stringContaining('not number 3') as string,
  };
  expect(() => accelerator.weighLoss(3 as never, 4)).toThrowError(expect.objectContaining(invalid) as Error);
});
