import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Accelerator } from './accelerator.js';
import { whatRuns } from './running.js';

let accelerator: Accelerator;
let w: tf.Variable;
beforeEach(async () => {
  accelerator = await Accelerator.create();
  w = tf.variable(tf.scalar(1));
});
afterEach(() => whatRuns()?.freeMemory());

const loss = () => w.square() as tf.Scalar;
const training: Record<string, () => unknown> = {
  prepare: () => accelerator.prepare([w]),
  accumulate: () => accelerator.accumulate(() => 1),
  noSync: () => accelerator.noSync(() => 1),
  backward: () => accelerator.backward(loss, [w]),
  weighLoss: () => accelerator.weighLoss(tf.scalar(1), 1),
  autocast: () => accelerator.autocast(() => 1),
  compile: () => accelerator.compile(() => tf.scalar(1)),
  joinUnevenInputs: () => accelerator.joinUnevenInputs(() => 1),
  saveState: () => accelerator.saveState('/nowhere'),
  loadState: () => accelerator.loadState('/nowhere'),
  registerForCheckpointing: () => accelerator.registerForCheckpointing(),
};
const together: Record<string, () => unknown> = {
  gather: () => accelerator.gather(tf.ones([1])),
  gatherForMetrics: () => accelerator.gatherForMetrics(tf.ones([1])),
  gatherObject: () => accelerator.gatherObject([1]),
  reduce: () => accelerator.reduce(tf.ones([1])),
  broadcast: () => accelerator.broadcast(tf.ones([1])),
  broadcastObject: () => accelerator.broadcastObject(1),
  waitForEveryone: () => accelerator.waitForEveryone(),
  mainProcessFirst: () => accelerator.mainProcessFirst(() => 1),
};

async function expectCode(call: () => unknown, code: string): Promise<void> {
  const called = async () => call();
  await expect(called()).rejects.toMatchObject({ code, help: expect.any(String) as string });
}

it.each(Object.entries(training))('%s after freeMemory is an error', async (_, call) => {
  accelerator.freeMemory();
  await expectCode(call, 'ACC_ACCELERATOR_FREED');
});

it.each(Object.entries(together))('%s after freeMemory works: the job goes on', async (_, call) => {
  accelerator.freeMemory();
  await call();
});

it.each(Object.entries({ ...training, ...together }))(
  '%s after endTraining is an error, alone too',
  async (_, call) => {
    await accelerator.endTraining();
    await expectCode(call, 'ACC_TRAINING_ENDED');
  },
);

it('freeMemory of an earlier Accelerator leaves the one that runs alone', async () => {
  accelerator.freeMemory();
  const other = await Accelerator.create();
  const { random } = Math;
  accelerator.freeMemory();
  expect([whatRuns() === undefined, Math.random]).toEqual([false, random]);
  other.prepare([w]);
});

it('endTraining after freeMemory ends the job', async () => {
  accelerator.freeMemory();
  await accelerator.endTraining();
  expect(() => accelerator.waitForEveryone()).toThrowError(
    expect.objectContaining({ code: 'ACC_TRAINING_ENDED' }),
  );
});

it('freeMemory and endTraining after endTraining do nothing', async () => {
  await accelerator.endTraining();
  accelerator.freeMemory();
  await accelerator.endTraining('failed');
});

it.each([[], [{ mixedPrecision: 'bf16' }]])('new Accelerator(%j) says how one is made', (...args) => {
  const made = Accelerator as unknown as new (...args: unknown[]) => Accelerator;
  expect(() => new made(...args)).toThrowError(
    expect.objectContaining({
      code: 'ACC_NOT_CREATED',
      help: expect.stringContaining('await Accelerator.create(') as unknown,
    }),
  );
});
