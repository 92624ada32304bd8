import * as tf from '@tensorflow/tfjs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isOffloaded } from '@acc/big-model';
import { Accelerator } from '../accelerator.js';
import {
  computeModuleSizes,
  dispatchModel,
  getMaxMemory,
  inferAutoDeviceMap,
  loadCheckpointAndDispatch,
} from '../index.js';

let folder: string;
let accelerator: Accelerator;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-dispatch-'));
  accelerator = await Accelerator.create();
});
afterEach(async () => {
  accelerator.freeMemory();
  tf.disposeVariables();
  await rm(folder, { recursive: true });
});

const SIZE = 64;
const limits = () => ({ maxMemory: 4 * SIZE, offloadFolder: folder });
const create = (add: number, dtype: 'float32' | 'int32' = 'float32') =>
  [1, 2, 3].map((value, i) =>
    tf.tidy(() =>
      tf.variable(tf.fill([SIZE], value + add, i === 2 ? dtype : 'float32'), true, `dispatched${i}`),
    ),
  );
const firsts = (variables: readonly tf.Variable[]) => variables.map((each) => each.dataSync()[0]);
const error = (code: string): Error => expect.objectContaining({ code }) as Error;

it('weights of another dtype are part of one error, and nothing is loaded', async () => {
  const saved = create(0, 'int32');
  await accelerator.saveModel(saved, join(folder, 'model'));
  tf.dispose(saved);
  const variables = create(10);
  for (const options of [{}, limits()]) {
    await expect(loadCheckpointAndDispatch(variables, join(folder, 'model'), options)).rejects.toMatchObject({
      code: 'ACC_WEIGHTS_MISMATCH',
      details: { mistyped: [{ name: 'dispatched2', stored: 'int32', here: 'float32' }], misshapen: [] },
    });
    expect(firsts(variables)).toEqual([11, 12, 13]);
  }
  accelerator.prepare(variables);
  await expect(accelerator.loadModel(variables, join(folder, 'model'))).rejects.toThrowError(
    error('ACC_WEIGHTS_MISMATCH'),
  );
  expect(firsts(variables)).toEqual([11, 12, 13]);
});

it('options without a value are none, also for a model that is dispatched', async () => {
  const variables = create(0);
  await accelerator.saveModel(variables, join(folder, 'model'));
  await dispatchModel(variables, limits());
  tf.tidy(() => variables[1]!.assign(tf.zeros([SIZE])));
  await loadCheckpointAndDispatch(variables, join(folder, 'model'), {
    maxMemory: undefined,
    offloadFolder: undefined,
  } as never);
  expect(firsts(variables)).toEqual([1, 2, 3]);
});

it('two weights of one name are an error that gives the names of both variables', async () => {
  const inner = () =>
    tf.sequential({ layers: [tf.layers.dense({ name: 'same', units: 4, inputShape: [4] })] });
  const nested = () => tf.sequential({ layers: [inner(), inner()] });
  const single = inner();
  await accelerator.saveModel(single, join(folder, 'model'));
  const model = nested();
  const names = model.weights
    .filter(({ originalName }) => originalName === 'same/kernel')
    .map(({ name }) => name);
  expect(new Set(names).size).toBe(2);
  const load = loadCheckpointAndDispatch(model, join(folder, 'model'));
  await expect(load).rejects.toMatchObject({ code: 'ACC_WEIGHTS_MISMATCH', details: { variables: names } });
  await expect(load).rejects.not.toThrowError(/rank/);
  accelerator.prepare(model);
  await expect(accelerator.loadModel(model, join(folder, 'model'))).rejects.toMatchObject({
    code: 'ACC_WEIGHTS_MISMATCH',
    details: { variables: names },
  });
  await expect(accelerator.saveModel(model, join(folder, 'nested'))).rejects.not.toThrowError(/rank/);
});

it('a save in the background has the weights of its call, though the dispatched model is trained on', async () => {
  const variables = create(0);
  await dispatchModel(variables, limits());
  const optimizer = tf.train.sgd(1);
  accelerator.prepare(variables, optimizer);
  const state = join(folder, 'state');
  await accelerator.saveState(state, { async: true });
  for (let step = 0; step < 3; step++) {
    optimizer.minimize(() => tf.addN(variables.map((each) => each.square().mean())).asScalar());
  }
  const trained = firsts(variables);
  expect(trained).not.toEqual([1, 2, 3]);
  await accelerator.loadState(state);
  expect(firsts(variables)).toEqual([1, 2, 3]);
});

it('an inferred device map is what dispatchModel follows, also changed', async () => {
  const variables = create(0);
  const inferred = inferAutoDeviceMap(variables, { maxMemory: 8 * SIZE });
  expect(inferred).toEqual({ dispatched0: 'cpu', dispatched1: 'disk', dispatched2: 'disk' });
  expect(Object.values(inferAutoDeviceMap(variables))).toEqual(['cpu', 'cpu', 'cpu']);
  expect(computeModuleSizes(variables)).toEqual({
    '': 12 * SIZE,
    dispatched0: 4 * SIZE,
    dispatched1: 4 * SIZE,
    dispatched2: 4 * SIZE,
  });
  expect(getMaxMemory()['cpu']).toBeGreaterThan(0);
  const deviceMap = { ...inferred, dispatched0: 'disk', dispatched1: 'cpu' };
  await expect(dispatchModel(variables, { deviceMap: { dispatched0: 'cpu' } })).rejects.toThrowError(
    error('ACC_INVALID_OPTION'),
  );
  await expect(dispatchModel(variables, { deviceMap })).rejects.toThrowError(error('ACC_OFFLOAD_FOLDER'));
  await dispatchModel(variables, { deviceMap, offloadFolder: folder });
  expect(firsts(variables)).toEqual([1, 2, 3]);
  expect(variables.map(isOffloaded)).toEqual([true, false, true]);
});
