// Packages of the formats read what saveGguf and savePretrained write, and write what loadPretrained reads.
// In `npm test`, files that such packages wrote prove the formats: packages/transformer/fixtures.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { llama, loadPretrained, saveGguf, savePretrained } from '@acc/transformer';
import { expectNear, flat } from '../e2e/transformer/compare.js';
import { LLAMA, tokensOf } from '../e2e/transformer/models.js';
import { newFolder, Reference } from '../e2e/transformer/reference.js';

let reference: Reference;

beforeAll(async () => {
  registerAccBackend();
  setNumThreads(1);
  await tf.setBackend('acc');
  reference = await Reference.start('quantized-files');
}, 600_000);
afterAll(() => reference?.close());

it('transformers and the gguf package read files of saveGguf, and compute the same', async () => {
  const folder = newFolder();
  const tokens = tokensOf(2, 7, 60);
  const model = llama({ ...LLAMA, intermediate_size: 64 });
  for (const type of ['F32', 'F16', 'Q8_0', 'Q4_0'] as const) {
    const path = join(folder, `${type}.gguf`);
    await saveGguf(model, path, { type });
    const read = await loadPretrained(path);
    const batch = tf.tensor2d(tokens, undefined, 'int32');
    const ours = read.predict(batch) as tf.Tensor;
    const theirs = await reference.ask('read', { folder, kind: 'llama', tokens, gguf: `${type}.gguf` });
    expectNear(flat(ours), theirs.logits);
    tf.dispose([batch, ours]);
    read.dispose();
  }
  model.dispose();
});

it.each([
  ['int8', '5GB'],
  ['int8', '20KB'],
  ['int4', '5GB'],
] as const)(
  'loadPretrained reads a model that transformers packs with torchao: %s, files of %s',
  async (packing, max_shard) => {
    const folder = newFolder();
    const tokens = tokensOf(2, 7, 60);
    const request = {
      folder,
      kind: 'llama',
      config: { ...LLAMA, intermediate_size: 64 },
      tokens,
      packing,
      max_shard,
    };
    const theirs = await reference.ask('pack', request);
    const read = await loadPretrained(folder);
    const batch = tf.tensor2d(tokens, undefined, 'int32');
    const ours = read.predict(batch) as tf.Tensor;
    expectNear(flat(ours), theirs.logits);
    const files = readdirSync(folder).filter((name) => name.endsWith('.safetensors'));
    expect(files.length > 1).toBe(max_shard === '20KB');
    tf.dispose([batch, ours]);
    read.dispose();
  },
);

it.each([{ weights: 'int8' }, { weights: 'int4', granularity: { group: 32 } }] as const)(
  'transformers reads weights that savePretrained packs by compressed-tensors: %j',
  async (options) => {
    const folder = newFolder();
    const tokens = tokensOf(2, 7, 60);
    const model = llama({ ...LLAMA, intermediate_size: 64 });
    await savePretrained(model, folder, options);
    model.dispose();
    const read = await loadPretrained(folder);
    const batch = tf.tensor2d(tokens, undefined, 'int32');
    const ours = read.predict(batch) as tf.Tensor;
    const theirs = await reference.ask('read', { folder, kind: 'llama', tokens });
    expectNear(flat(ours), theirs.logits);
    tf.dispose([batch, ours]);
    read.dispose();
  },
);
