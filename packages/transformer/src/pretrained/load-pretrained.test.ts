import * as tf from '@tensorflow/tfjs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadPretrained } from './load-pretrained.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-pretrained-'));
  await tf.setBackend('cpu');
});
afterEach(() => rm(folder, { recursive: true }));

const failure = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

async function write(config: unknown): Promise<void> {
  const header = Buffer.from(JSON.stringify({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  await writeFile(join(folder, 'model.safetensors'), Buffer.concat([length, header, Buffer.alloc(8)]));
  await writeFile(join(folder, 'config.json'), typeof config === 'string' ? config : JSON.stringify(config));
}

it.each([
  ['a million layers', { model_type: 'gpt2', n_layer: 1_000_000, n_embd: 2, n_head: 1 }, /1000000 layers/],
  ['a huge width', { model_type: 'llama', hidden_size: 2 ** 20, num_hidden_layers: 1 }, /of 1 layers and at/],
  ['a huge vocabulary', { model_type: 'gpt2', vocab_size: 2 ** 40, n_layer: 1 }, /1 tensors with 2 elements/],
])('a config of %s is refused before a model is built', async (_, config, message) => {
  await write(config);
  const before = tf.memory().numTensors;
  await expect(loadPretrained(folder)).rejects.toThrow(failure('ACC_WEIGHTS_MISMATCH', message));
  await expect(loadPretrained(folder)).rejects.toThrow(folder);
  expect(tf.memory().numTensors).toBe(before);
});

it('a config that is nested deep, or is no JSON, is refused with its path', async () => {
  await write(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`);
  await expect(loadPretrained(folder)).rejects.toThrow(
    failure('ACC_MODEL_CONFIG_INVALID', /config.json .*1000 deep/),
  );
  await write('{"model_type":');
  await expect(loadPretrained(folder)).rejects.toThrow(
    failure('ACC_MODEL_CONFIG_INVALID', /config.json cannot be/),
  );
});
