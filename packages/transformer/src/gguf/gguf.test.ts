import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileStorage } from '@acc/checkpoint';
import { float16Bits, kernelLayerOf } from '@acc/kernels';
import { gpt2, llama, loadPretrained, saveGguf } from '../index.js';
import { configOf } from '../models/description.js';
import { WRITTEN_TYPES } from './encode.js';
import { halfValues } from './half.js';
import { configOfMetadata } from './metadata.js';
import { openGguf, readValues } from './open-gguf.js';
import { readHeader } from './read-header.js';
import { factorsOf } from './rope-factors.js';

/** Written by fixtures/write_gguf.py. */
const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-gguf-'));
  await tf.setBackend('cpu');
});
afterEach(() => rm(folder, { recursive: true }));

const failure = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

const bitsOf = (values: Float32Array): Int32Array =>
  new Int32Array(values.buffer, values.byteOffset, values.length);

describe('blocks are those of the gguf package, bit for bit', async () => {
  const file = { storage: fileStorage(FIXTURES), key: 'blocks.gguf', where: 'blocks.gguf' };
  const { tensors } = await readHeader(file);
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  const values = (name: string) => readValues(byName.get(name)!, file);
  const types = tensors.filter(({ name }) => byName.has(`${name}.values`)).map(({ name }) => name);

  it('of ten types', () => expect(types).toHaveLength(10));

  it('Q4_0 rounds its sums to float32, too', () => {
    const values = new Float32Array(32).fill(-8);
    // Just below 6.5. The sum with 8.5 lies between two float32 numbers.
    values[1] = 6.499999523162842;
    const blocks = new Uint8Array(18);
    WRITTEN_TYPES.Q4_0.encode(values, blocks);
    expect(blocks[3]! & 15).toBe(15);
  });

  it.each(types)('%s, read', async (type) => {
    expect(byName.get(type)!.type.name).toBe(type);
    expect(bitsOf(await values(type))).toEqual(bitsOf(await values(`${type}.values`)));
  });

  it.each(['F16', 'Q8_0', 'Q4_0'] as const)('%s, written', async (type) => {
    const { start, byteLength } = byName.get(`x.${type}`)!;
    const expected = await file.storage.get(file.key, { start, into: new Uint8Array(byteLength) });
    const blocks = new Uint8Array(byteLength);
    WRITTEN_TYPES[type].encode(await values('x'), blocks);
    expect(blocks).toEqual(expected);
  });
});

it('float16 numbers are rounded to the nearest, of two the even one', () => {
  const halves = halfValues();
  const finite = Array.from(halves.keys()).filter((bits) => Number.isFinite(halves[bits]));
  expect(finite).toHaveLength(2 * 31 * 1024);
  expect(finite.map((bits) => float16Bits(halves[bits]!))).toEqual(finite);
  const positive = finite.filter((bits) => bits < 0x7bff);
  const between = positive.map((bits) => float16Bits((halves[bits]! + halves[bits + 1]!) / 2));
  expect(between).toEqual(positive.map((bits) => bits + (bits & 1)));
  expect([65_519, 65_520, -Infinity, NaN].map(float16Bits)).toEqual([0x7bff, 0x7c00, 0xfc00, 0x7e00]);
});

/** The rule of fixtures/write_gguf.py, for weights as the Hub has them. */
const valueAt = (row: number, column: number, index: number): number =>
  (((7 * row + 3 * column + 11 * index) % 64) - 32) / 64;

it('a file that the gguf package wrote, by the rules of the converter, gives the model', async () => {
  const model = await loadPretrained(join(FIXTURES, 'llama.gguf'));
  expect(configOf(model, 'test')).toMatchObject({
    vocab_size: 8,
    hidden_size: 32,
    num_key_value_heads: 2,
    head_dim: null,
    max_position_embeddings: 16,
    rope_parameters: { rope_type: 'default', rope_theta: 500_000 },
    tie_word_embeddings: false,
  });
  const order = [0, 2, 3, 4, 5, 1, 6, 7, 8, 9, 10, 11];
  const byName = new Map(model.weights.map((weight) => [weight.originalName, weight.read()]));
  const named = (index: number, name: string) => ({ index, value: byName.get(name)! });
  const parts = ['ln_1/gamma', 'attn/q_proj/kernel', 'attn/k_proj/kernel', 'attn/v_proj/kernel'];
  const others = ['attn/o_proj/kernel', 'ln_2/gamma', 'mlp/gate_proj/kernel', 'mlp/up_proj/kernel'];
  const block = [...parts, ...others, 'mlp/down_proj/kernel'].map((part) => `layers.0/${part}`);
  const names = ['embed_tokens/embeddings', ...block, 'norm/gamma', 'lm_head/kernel'];
  expect(names).toHaveLength(order.length);
  names.forEach((name, i) => {
    const { index, value } = named(i, name);
    const isKernel = name.endsWith('kernel');
    const stored = (
      isKernel ? tf.transpose(value) : value.rank === 1 ? tf.expandDims(value, 0) : value
    ).arraySync();
    const rows = stored as number[][];
    expect(rows, name).toEqual(rows.map((row, r) => row.map((_, c) => valueAt(r, c, index))));
  });
  model.dispose();
});

const LLAMA3 = {
  rope_type: 'llama3',
  rope_theta: 500_000,
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 64,
} as const;

const SMALL = {
  vocab_size: 32,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
};

function logitsOf(model: tf.LayersModel): Float32Array {
  return tf.tidy(() => {
    const tokens = tf.tensor2d([[1, 5, 9, 2, 31, 7]], [1, 6], 'int32');
    return (model.predict(tokens) as tf.Tensor).dataSync() as Float32Array;
  });
}

it.each([
  ['plain', {}],
  [
    'with biases, wide heads and tied tables',
    { attention_bias: true, mlp_bias: true, head_dim: 24, tie_word_embeddings: true },
  ],
  ['with the positions of Llama 3', { rope_parameters: LLAMA3 }],
  [
    'with linear positions',
    { rope_parameters: { rope_type: 'linear', rope_theta: 1000, factor: 2 } as const },
  ],
])('a model %s is the same after saveGguf and loadPretrained', async (_, fields) => {
  const model = llama({ ...SMALL, ...fields });
  const before = tf.memory().numTensors;
  const path = join(folder, 'model.gguf');
  await saveGguf(model, path, { type: 'F32' });
  const read = await loadPretrained(path);
  expect(logitsOf(read)).toEqual(logitsOf(model));
  for (const [i, weight] of read.weights.entries()) {
    expect(weight.read().dataSync()).toEqual(model.weights[i]!.read().dataSync());
  }
  read.dispose();
  expect(tf.memory().numTensors).toBe(before);
  model.dispose();
});

describe('positions are scaled as llama.cpp scales them', () => {
  const half = 4;
  const llama3 = Array.from(
    factorsOf(half, 10_000, {
      type: 'llama3',
      factor: 8,
      lowFreqFactor: 1,
      highFreqFactor: 4,
      originalMaxPositions: 64,
    }),
  );
  const positionsOf = (fields: Readonly<Record<string, number | string>>, factors?: readonly number[]) => {
    const counts = { block_count: 1, context_length: 8, embedding_length: 32, feed_forward_length: 32 };
    const others = { 'attention.head_count': 4, 'attention.layer_norm_rms_epsilon': 1e-5 };
    const own = Object.entries({ ...counts, ...others, vocab_size: 4, ...fields });
    return configOfMetadata({
      metadata: new Map<string, number | string>([
        ['general.architecture', 'llama'],
        ...own.map(([key, value]) => [`llama.${key}`, value] as const),
      ]),
      shapeOf: (name) => (factors && name === 'rope_freqs.weight' ? [factors.length] : undefined),
      valuesOf: () => Promise.resolve(Float32Array.from(factors!)),
      where: 'test',
    });
  };
  const [type, factor, old] = ['rope.scaling.type', 'rope.scaling.factor', 'rope.scale_linear'];
  const linear = { rope_type: 'linear', factor: 2 };

  it.each([
    ['a factor without a type', { [factor]: 2 }, linear],
    ['the former key', { [old]: 2 }, linear],
    ['a type without a factor', { [type]: 'linear' }, { rope_type: 'default' }],
    ['a factor that is not used', { [type]: 'none', [factor]: 2 }, { rope_type: 'default' }],
  ])('with %s', async (_, fields, expected) => {
    expect((await positionsOf(fields)).rope_parameters).toMatchObject(expected);
  });

  it('by factors of as many frequencies as a head has', async () => {
    expect((await positionsOf({}, llama3)).rope_parameters).toMatchObject({ rope_type: 'llama3', factor: 8 });
    await expect(positionsOf({}, [...llama3, 8])).rejects.toThrow(
      failure('ACC_MODEL_UNSUPPORTED', /'rope_freqs\.weight' has the shape \[5\]; expected \[4\]/),
    );
    await expect(positionsOf({ [factor]: 2 }, llama3)).rejects.toThrow(
      failure('ACC_MODEL_UNSUPPORTED', /scaled by 2 and by 'rope_freqs\.weight'/),
    );
  });
});

it('types of fewer bits have errors of their steps, and files of their size', async () => {
  const model = llama({ ...SMALL, num_hidden_layers: 1 });
  const sizes: number[] = [];
  for (const [type, step] of [
    ['Q4_0', 1 / 8],
    ['Q8_0', 1 / 127],
    ['F16', 2 ** -11],
  ] as const) {
    const path = join(folder, `${type}.gguf`);
    await saveGguf(model, path, { type });
    sizes.push((await readFile(path)).length);
    const read = await loadPretrained(path);
    for (const [i, weight] of read.weights.entries()) {
      const values = model.weights[i]!.read();
      const limit = values.rank > 1 ? step * tf.max(tf.abs(values)).dataSync()[0]! : 0;
      expect(tf.max(tf.abs(tf.sub(weight.read(), values))).dataSync()[0]!).toBeLessThanOrEqual(1.01 * limit);
    }
    read.dispose();
  }
  const values = 2 * 32 * 64 + 64 * 64 * 3 + 3 * 64 * 96;
  const header = sizes[2]! - 2 * values;
  expect(sizes).toEqual([header + (values * 18) / 32, header + (values * 34) / 32, header + 2 * values]);
  model.dispose();
});

it('a box of a weight has the values of the whole', async () => {
  const { stored } = await openGguf(join(FIXTURES, 'llama.gguf'));
  const { state } = kernelLayerOf(tf.getBackend(), tf.backend());
  const weight = stored.find(({ name }) => name === 'model.layers.0.self_attn.q_proj.weight')!;
  const part = await weight.read(state, { offset: [3, 1], sizes: [2, 4] });
  expect(part.arraySync()).toEqual(
    [3, 4].map((row) => [1, 2, 3, 4].map((column) => valueAt(row, column, 2))),
  );
  part.dispose();
});

it('refuses what it cannot write, with the name of the tensor', async () => {
  const path = join(folder, 'model.gguf');
  const narrow = llama({ ...SMALL, intermediate_size: 44, num_hidden_layers: 1 });
  await expect(saveGguf(narrow, path)).rejects.toThrow(
    failure('ACC_QUANTIZE_SHAPE', /'blk\.0\.ffn_down\.weight' has rows of 44 values/),
  );
  narrow.weights[0]!.write(tf.fill([32, 64], 70_000));
  await expect(saveGguf(narrow, path, { type: 'F16' })).rejects.toThrow(
    failure('ACC_QUANTIZE_VALUES', /'token_embd\.weight'/),
  );
  await expect(saveGguf(narrow, path, { type: 'F16', write: false })).rejects.toThrow(
    failure('ACC_QUANTIZE_VALUES', /'token_embd\.weight'/),
  );
  await expect(loadPretrained(path)).rejects.toThrow(failure('ACC_WEIGHTS_NOT_FOUND', /model\.gguf/));
  const other = gpt2({ n_embd: 8, n_head: 2, n_layer: 1, vocab_size: 4 });
  await expect(saveGguf(other, path)).rejects.toThrow(failure('ACC_MODEL_UNSUPPORTED', /'gpt2'/));
  await expect(saveGguf(narrow, path, { type: 'Q2_K' as never })).rejects.toThrow(
    failure('ACC_INVALID_OPTION', /type/),
  );
  narrow.dispose();
  other.dispose();
});
