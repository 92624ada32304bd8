// Trains small models in several ways, and returns of each what all ranks have: losses, weights, and
// text. The argument is a folder to save into.
import { join } from 'node:path';
import { Accelerator, DataLoader, setSeed, type AcceleratorOptions } from '@acc/core';
import { generate, gpt2, llama, lora, saveLora, savePretrained } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { lossOf } from '../loss.js';
import { GPT2, LLAMA, tokensOf } from '../models.js';

export interface Trained {
  readonly losses: number[];
  readonly weights: Readonly<Record<string, number[]>>;
  readonly before: Readonly<Record<string, number[]>>;
  readonly tokens: number[][];
  readonly trainable: number;
  readonly leaked: number;
}

export type Results = Readonly<Record<string, Trained>>;

const STEPS = 3;
const BATCH = 4;

const makers: Readonly<Record<string, () => tf.LayersModel>> = {
  llama: () => llama({ ...LLAMA, initializer_range: 0.2 }),
  gpt2: () => gpt2({ ...GPT2, initializer_range: 0.2 }),
  lora: () =>
    lora(llama({ ...LLAMA, initializer_range: 0.2 }), { rank: 2, targets: ['**/attn/*', '**/down_proj'] }),
};

const WAYS: Readonly<Record<string, AcceleratorOptions>> = {
  ddp: { strategy: 'ddp' },
  fsdp: { strategy: 'fsdp', fsdp: { stage: 3, bucketBytes: 4096 } },
  'fsdp, computed again': { strategy: 'fsdp', fsdp: { bucketBytes: 1 }, checkpointEvery: 1 },
};

export default async function trainAll(folder: string): Promise<Results> {
  const results: Record<string, Trained> = {};
  for (const [way, options] of Object.entries(WAYS)) {
    for (const kind of Object.keys(makers)) {
      const name = `${kind} ${way}`;
      results[name] = await train(kind, options, join(folder, name));
    }
  }
  return results;
}

/** @param to The folder to save into. */
async function train(kind: string, options: AcceleratorOptions, to: string): Promise<Trained> {
  const accelerator = await Accelerator.create({ dataLoader: { splitBatches: true }, ...options });
  setSeed(5);
  const model = makers[kind]!();
  const rows = tokensOf(STEPS * BATCH, 8, 60).map((row) => Int32Array.from(row));
  const loader = new DataLoader(rows, { batchSize: BATCH });
  const [, optimizer, data] = accelerator.prepare(model, tf.train.sgd(0.2), loader);
  const before = valuesOf(accelerator, model);
  const losses: number[] = [];
  let leaked = 0;
  for await (const batch of data) {
    const { numTensors } = tf.memory();
    const mean = tf.tidy(() => {
      const loss = optimizer.minimize(() => lossOf(model, batch as tf.Tensor2D), true)!;
      return accelerator.reduce(loss, 'mean');
    });
    losses.push(mean.dataSync()[0]!);
    mean.dispose();
    if (losses.length > 1) leaked += tf.memory().numTensors - numTensors;
    batch.dispose();
  }
  const made = generate(model, tokensOf(2, 4, 60), { maxNewTokens: 6 });
  const tokens = made.arraySync();
  made.dispose();
  await save(accelerator, model, to);
  const weights = valuesOf(accelerator, model);
  const trained = { losses, weights, before, tokens, trainable: model.trainableWeights.length, leaked };
  accelerator.freeMemory(model);
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return trained;
}

function save(accelerator: Accelerator, model: tf.LayersModel, to: string): Promise<void> {
  const write = accelerator.isMainProcess;
  const hasAdapters = model.weights.some(({ originalName }) => originalName.endsWith('lora_A'));
  return hasAdapters ? saveLora(model, to, { write }) : savePretrained(model, to, { write });
}

function valuesOf(accelerator: Accelerator, model: tf.LayersModel): Record<string, number[]> {
  const state = accelerator.getStateDict(model);
  const values = Object.entries(state).map(([name, value]) => [name, Array.from(value.dataSync())]);
  tf.dispose(state);
  return Object.fromEntries(values) as Record<string, number[]>;
}
