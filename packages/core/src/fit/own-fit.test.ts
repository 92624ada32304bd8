import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator | undefined;
afterEach(() => accelerator?.freeMemory());

type Args = Parameters<tf.Sequential['fitDataset']>[1];

/** Calls its callbacks by name. */
class OwnLoop extends tf.Sequential {
  given: unknown;

  override async fitDataset(dataset: tf.data.Dataset<never>, args: Args): Promise<tf.History> {
    this.given = args;
    const { callbacks, ...others } = args as Args & { callbacks: { onOwn(): void } };
    const history = await super.fitDataset(dataset, others);
    callbacks.onOwn();
    return history;
  }
}

it('a model class with its own fitDataset gets the options as they were given', async () => {
  accelerator = await Accelerator.create({ engine: 'acc' });
  const model = new OwnLoop();
  model.add(tf.layers.dense({ units: 1, inputShape: [1] }));
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const onOwn = vi.fn();
  const args = { epochs: 2, verbose: 0 as const, callbacks: { onOwn } as object };
  const batches = tf.data.array([{ xs: tf.ones([2, 1]), ys: tf.ones([2, 1]) }]);
  const history = await model.fitDataset(batches as never, args);
  expect(model.given).toBe(args);
  expect(onOwn).toHaveBeenCalledOnce();
  expect(history.history['loss']).toHaveLength(2);
});
