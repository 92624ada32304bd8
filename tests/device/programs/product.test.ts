// Programs beside their steps, on the device: models that are larger than its memory, batches that are
// made ahead, checkpoints.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  DataLoader,
  dispatchModel,
  initEmptyWeights,
  loadCheckpointAndDispatch,
} from '@acc/core';
import { expectClose } from '@acc/testkit';
import type { AccBackend } from '@acc/kernels';
import { operatorWithResults } from '@acc/native';
import { countsOf, setDelays } from '../late-device.js';

const WIDTH = 64;
const LAYER_BYTES = 4 * (WIDTH * WIDTH + WIDTH);

let folder: string;
let accelerator: Accelerator;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'acc-device-'));
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1, dataLoader: { uploadStream: true } });
  setDelays(1, 100);
});
afterAll(() => {
  setDelays(0, 0);
  accelerator.freeMemory();
  rmSync(folder, { recursive: true });
});

function createModel(): tf.Sequential {
  const layer = (seed: number) =>
    tf.layers.dense({
      units: WIDTH,
      inputShape: [WIDTH],
      activation: 'tanh',
      name: `layer${seed}`,
      kernelInitializer: tf.initializers.glorotUniform({ seed }),
    });
  return tf.sequential({ layers: [1, 2, 3, 4, 5].map(layer) });
}

const input = () => tf.tidy(() => tf.sin(tf.range(0, 3 * WIDTH)).reshape([3, WIDTH]));
const predict = (model: tf.LayersModel): number[] =>
  tf.tidy(() => [...(model.predict(input()) as tf.Tensor).dataSync()]);

describe('a model that is larger than the memory of the device', () => {
  // Room for one layer that stays, and one of the others at a time. Two are on the host, two on the disk.
  const maxMemory = { 'late:0': 2 * LAYER_BYTES, cpu: 2 * LAYER_BYTES };

  it('predicts with weights on the host and on the disk', async () => {
    expect(accelerator.device).toBe('late:0');
    const expected = predict(createModel());
    const model = await dispatchModel(createModel(), { maxMemory, offloadFolder: folder });
    for (let i = 0; i < 2; i++) expect(predict(model)).toEqual(expected);
    model.dispose();
  });

  it('is loaded weight by weight', async () => {
    const whole = createModel();
    const expected = predict(whole);
    await accelerator.saveModel(whole, join(folder, 'weights'));
    const empty = initEmptyWeights(createModel);
    const model = await loadCheckpointAndDispatch(empty, join(folder, 'weights'), {
      maxMemory,
      offloadFolder: folder,
    });
    expect(predict(model)).toEqual(expected);
    whole.dispose();
    model.dispose();
  });
});

it('batches that are made ahead are on the device, and nothing waits for it', async () => {
  const samples = Array.from({ length: 12 }, (_, i) => ({ x: Float32Array.of(i, i + 1) }));
  const loader = accelerator.prepare(new DataLoader(samples, { batchSize: 4, prefetch: 2 }));
  const sums: tf.Tensor[] = [];
  const counts = await countsOf(async () => {
    for await (const { x } of loader) sums.push(tf.sum(x));
  });
  expect(counts).toMatchObject({ reads: 0, waits: 0 });
  expect(sums.map((sum) => sum.dataSync()[0])).toEqual([16, 48, 80]);
  tf.dispose(sums);
});

describe('batches on a stream of their own', () => {
  const streamOf = operatorWithResults('late::stream_of_memory');
  const LENGTH = 2 ** 15;

  it.each([1, 2, 3])(
    'are used when they have arrived, and their memory after that: seed %i',
    async (seed) => {
      setDelays(seed, 2_000);
      const samples = Array.from({ length: 8 }, (_, i) => ({ x: new Float32Array(LENGTH).fill(i + 1) }));
      const loader = accelerator.prepare(new DataLoader(samples, { batchSize: 1, prefetch: 2 }));
      const sums: tf.Tensor[] = [];
      const streams = new Set<unknown>();
      for await (const { x } of loader) {
        streams.add(streamOf((tf.backend() as AccBackend).native(x))[0]);
        // Each batch is freed before the device has read it.
        sums.push(tf.tidy(() => tf.sum(tf.mul(x, 2))));
      }
      expect([...streams]).not.toContain(0);
      expect(sums.map((sum) => sum.dataSync()[0])).toEqual(samples.map((_, i) => 2 * LENGTH * (i + 1)));
      tf.dispose(sums);
    },
  );
});

it('a checkpoint of the device is loaded there', async () => {
  const [model, optimizer] = accelerator.prepare(createModel(), tf.train.adam(0.01));
  const step = () =>
    tf.tidy(() => void optimizer.minimize(() => tf.mean(tf.square(model.predict(input()) as tf.Tensor))));
  step();
  const checkpoint = join(folder, 'state');
  await accelerator.saveState(checkpoint);
  step();
  const expected = predict(model);
  step();
  await accelerator.loadState(checkpoint);
  step();
  expectClose(predict(model), expected, { rtol: 1e-4, atol: 1e-5 });
});
