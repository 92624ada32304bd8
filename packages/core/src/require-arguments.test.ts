import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Accelerator } from './accelerator.js';

let accelerator: Accelerator;
beforeAll(async () => void (accelerator = await Accelerator.create()));
afterAll(() => accelerator.freeMemory());

const given = (value: unknown) => value as never;
const model = () => tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });

it.each<[string, string, () => unknown]>([
  ['pipelined', 'pipelined(model, (yTrue, yPred) => …)', () => accelerator.pipelined(model(), given('mse'))],
  [
    'splitBetweenProcesses',
    'splitBetweenProcesses(inputs, (share) => …)',
    () => accelerator.splitBetweenProcesses([1], given(3)),
  ],
])('%s without its function shows a whole call', (_, written, call) => {
  expect(call).toThrowError(expect.objectContaining({ help: `Write ${written}.` }));
});

it.each<[string, () => unknown]>([
  ['accumulate', () => accelerator.accumulate(given(3))],
  ['noSync', () => accelerator.noSync(given(undefined))],
  ['backward', () => accelerator.backward(given(tf.scalar(1)))],
  ['autocast', () => accelerator.autocast(given(null))],
  ['compile', () => accelerator.compile(given(3))],
  ['joinUnevenInputs', () => accelerator.joinUnevenInputs(given(3))],
  ['mainProcessFirst', () => accelerator.mainProcessFirst(given('x'))],
  ['endTraining', () => accelerator.endTraining(given('ok'))],
  ['endTraining', () => accelerator.endTraining(given(null))],
  ['saveState', () => accelerator.saveState(given(3))],
  ['loadState', () => accelerator.loadState(given({ ifPresent: true }))],
  ['saveModel', () => accelerator.saveModel(model(), given(undefined))],
  ['loadModel', () => accelerator.loadModel(model(), given(3))],
])('%s refuses a wrong argument and names itself', async (name, call) => {
  const called = async () => call();
  await expect(called()).rejects.toMatchObject({
    code: 'ACC_INVALID_ARGUMENT',
    message: expect.stringContaining(`${name} needs `) as unknown,
    help: expect.any(String) as unknown,
  });
});
