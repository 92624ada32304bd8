import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { liveTensors, TensorFile } from '@acc/native';
import { GradientStore } from './gradient-store.js';
import { UpdatePipeline } from './update-pipeline.js';
import { ValueFile } from './value-file.js';
import { VariableStore } from './variable-store.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

let folder: string;
let tensorFile: TensorFile;
let file: ValueFile;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'acc-offload-'));
  tensorFile = new TensorFile(folder, 'test');
  file = new ValueFile(tensorFile, kernelLayerOf('acc', tf.backend()));
});
afterEach(() => {
  tensorFile.dispose();
  rmSync(folder, { recursive: true });
});

it('gradients are disposed if they cannot be written', () => {
  const store = new GradientStore(file);
  const before = { tensors: tf.memory().numTensors, natives: liveTensors() };
  const grads = [tf.zeros([0]), tf.ones([1000]), tf.ones([2000])];
  tensorFile.dispose();
  expect(() => store.put(grads)).toThrow();
  expect({ tensors: tf.memory().numTensors, natives: liveTensors() }).toEqual(before);
});

it('what an update has begun to read is freed if the file is damaged', () => {
  const variables = new VariableStore(file);
  const gradients = new GradientStore(file);
  const stored = [0, 1].map((i) => variables.of(tf.variable(tf.fill([3000], i), false)));
  const grads = gradients.put([tf.ones([3000]), tf.ones([3000])]);
  variables.write(stored);
  for (const grad of grads) gradients.handleOf(grad)!.writing.wait();
  for (const { writing } of stored) writing!.wait();
  truncateSync(tensorFile.path, 0);
  const before = { tensors: tf.memory().numTensors, natives: liveTensors() };
  const groups = grads.map((grad, i) => ({
    names: new Set([`w${i}`]),
    stored: [stored[i]!],
    grads: [gradients.handleOf(grad)!],
  }));
  const pipeline = new UpdatePipeline(groups, { file, store: variables });
  expect(() => pipeline.groups[0]!.enter()).toThrowError(
    expect.objectContaining({ code: 'ACC_OFFLOAD_DAMAGED' }),
  );
  pipeline.drop();
  expect({ tensors: tf.memory().numTensors, natives: liveTensors() }).toEqual(before);
  tf.dispose(grads);
  for (const { variable } of stored) variable.dispose();
});
