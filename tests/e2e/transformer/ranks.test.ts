import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { llama, loadLora, loadPretrained } from '@acc/transformer';
import { onRanks } from '../on-ranks.js';
import { expectNear, rms } from './compare.js';
import { LLAMA } from './models.js';
import { newFolder } from './reference.js';
import type { Results, Trained } from './ranks/train.js';

/** Results of each rank, by the number of ranks. */
const results = new Map<number, Results[]>();
const folders = new Map([1, 2].map((ranks) => [ranks, newFolder()]));

beforeAll(async () => {
  const module = new URL('./ranks/train.ts', import.meta.url);
  for (const [ranks, folder] of folders) {
    const env = { OMP_NUM_THREADS: '1' };
    const options = { module, ranks, env, args: folder, timeoutMs: 300_000 };
    results.set(ranks, await onRanks<Results>(options));
  }
  registerAccBackend();
  await tf.setBackend('acc');
}, 600_000);

const of = (name: string, ranks: number): Trained[] => results.get(ranks)!.map((all) => all[name]!);

const WAYS = ['ddp', 'fsdp', 'fsdp, computed again'];
const NAMES = ['llama', 'gpt2', 'lora'].flatMap((kind) => WAYS.map((way) => `${kind} ${way}`));

it.each(NAMES)('%s: two ranks train, read and write as one', (name) => {
  const [alone] = of(name, 1);
  for (const { losses, weights, tokens, trainable, leaked } of of(name, 2)) {
    expect(leaked).toBe(0);
    expect(trainable).toBe(alone!.trainable);
    expectNear(losses, alone!.losses, 1e-4);
    expect(tokens).toEqual(alone!.tokens);
    const size = Math.max(...Object.values(alone!.weights).map(rms));
    for (const [weight, values] of Object.entries(alone!.weights)) {
      expectNear(weights[weight]!, values, 1e-4, size);
    }
  }
  // What is trained has changed, and nothing else.
  const isTrained = (weight: string) => !name.startsWith('lora') || weight.includes('lora_');
  for (const [weight, values] of Object.entries(alone!.weights)) {
    if (isTrained(weight)) expect(values, weight).not.toEqual(alone!.before[weight]);
    else expect(values, weight).toEqual(alone!.before[weight]);
  }
});

it.each(NAMES)('%s: the files have the weights', async (name) => {
  for (const [ranks, folder] of folders) {
    const path = join(folder, name);
    const [{ weights }] = of(name, ranks) as [Trained];
    const model = name.startsWith('lora') ? await loadLora(llama(LLAMA), path) : await loadPretrained(path);
    const saved = name.startsWith('lora') ? model.trainableWeights : model.weights;
    for (const weight of saved) {
      expect(Array.from(weight.read().dataSync()), weight.originalName).toEqual(weights[weight.originalName]);
    }
    model.dispose();
  }
});
