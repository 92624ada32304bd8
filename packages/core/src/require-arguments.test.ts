import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DataLoader } from '@acc/data';
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

const grads = () => ({ a: tf.ones([2]) });
const rows = () => accelerator.prepare(new DataLoader([1, 2, 3], { batchSize: 1 }));

it.each<[string, string, string, () => unknown]>([
  [
    'clipGradNorm',
    'the bound is "1"',
    'Write 1 without quotes.',
    () => accelerator.clipGradNorm(grads(), given('1')),
  ],
  ['clipGradNorm', 'the bound is 0', 'A usual bound', () => accelerator.clipGradNorm(grads(), 0)],
  [
    'clipGradValue',
    'the bound is undefined',
    'A usual bound',
    () => accelerator.clipGradValue(grads(), given(undefined)),
  ],
  [
    'clipGradValue',
    'needs gradients by name, not an Array',
    'backward(loss)',
    () => accelerator.clipGradValue(given([1]), 1),
  ],
  [
    'clipGradNorm',
    'not a record with the member grads',
    'backward(loss)',
    () => accelerator.clipGradNorm(given({ value: tf.scalar(1), grads: {} }), 1),
  ],
  [
    'weighLoss',
    'count is "3"',
    'Write 3 without quotes.',
    () => accelerator.weighLoss(tf.scalar(1), given('3')),
  ],
  ['weighLoss', 'count is -1', 'Give the number of items', () => accelerator.weighLoss(tf.scalar(1), -1)],
  [
    'reduce',
    'scale is "2"',
    'Write 2 without quotes.',
    () => accelerator.reduce(tf.ones([1]), 'sum', given('2')),
  ],
  ['reduce', 'scale is NaN', 'leave it out', () => accelerator.reduce(tf.ones([1]), 'sum', NaN)],
  [
    'localBatchSize',
    'batchSize is "8"',
    'Write 8 without quotes.',
    () => accelerator.localBatchSize(given('8')),
  ],
  ['localBatchSize', 'batchSize is 1.5', 'Pass the size', () => accelerator.localBatchSize(1.5)],
  [
    'skipFirstBatches',
    'batches is "1"',
    'Write 1 without quotes.',
    () => accelerator.skipFirstBatches(rows(), given('1')),
  ],
  ['onProcess', 'index is "0"', 'Write 0 without quotes.', () => accelerator.onProcess(given('0'), () => 1)],
  ['onLocalProcess', 'index is -1', 'Give 0', () => accelerator.onLocalProcess(-1, () => 1)],
  [
    'onMainProcess',
    'needs a function, not number 3',
    'Write onMainProcess(() => …).',
    () => accelerator.onMainProcess(given(3)),
  ],
  [
    'onLocalProcess',
    'needs a function',
    'Write onLocalProcess(index, () => …).',
    () => accelerator.onLocalProcess(0, given(3)),
  ],
])('%s refuses a wrong number: %s', (method, message, help, call) => {
  expect(call).toThrowError(
    expect.objectContaining({
      code: 'ACC_INVALID_ARGUMENT',
      message: expect.stringContaining(message) as unknown,
      help: expect.stringContaining(help) as unknown,
    }),
  );
  expect(call).toThrowError(method);
});

it.each<[string, string, () => unknown]>([
  [
    'object',
    'A rank is a whole number, not {"a":1}.',
    () => accelerator.broadcast(tf.ones([1]), given({ a: 1 })),
  ],
  ['text', 'A rank is a whole number, not "0".', () => accelerator.broadcastObject(1, given('0'))],
  ['number', 'There is no rank 3.', () => accelerator.broadcastObject(1, 3)],
])('a rank that is no rank is shown: %s', (_, message, call) => {
  expect(call).toThrowError(message);
});
