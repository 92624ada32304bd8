import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openWeights, type StoredWeight } from '@acc/checkpoint';
import type { StateLayer } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { gpt2, llama, loadPretrained, savePretrained } from '../index.js';
import { openPacked } from './open-packed.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-packed-'));
  await tf.setBackend('cpu');
});
afterEach(() => rm(folder, { recursive: true }));

const failure = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

const stateLayer = (): StateLayer => kernelLayerOf(tf.getBackend(), tf.backend()).state;

const words = { quant_method: 'compressed-tensors', format: 'pack-quantized' };
const nf4 = { quant_method: 'bitsandbytes', load_in_4bit: true, bnb_4bit_quant_type: 'nf4' };

/** The cases of fixtures/write_packed.py. */
const CASES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  words4: words,
  words4zeros: { ...words, config_groups: { group_0: { weights: { symmetric: false } } } },
  words8: words,
  bytes8: { ...words, format: 'int-quantized' },
  nf4,
  nf4nested: nf4,
  gptq4: { quant_method: 'gptq', bits: 4, desc_act: true },
  gptq8: { quant_method: 'gptq', bits: 8, checkpoint_format: 'gptq_v2' },
  awq: { quant_method: 'awq', bits: 4, version: 'GEMM' },
};

/** The values of the first weight. */
async function valuesIn(
  stored: readonly StoredWeight[],
  config: Readonly<Record<string, unknown>>,
): Promise<ArrayLike<number>> {
  const opened = await openPacked(stored, config, stateLayer());
  const weight = opened.find(({ name }) => name.endsWith('.weight'))!;
  const values = await weight.read(stateLayer());
  try {
    return await values.data();
  } finally {
    values.dispose();
  }
}

/** The tensors of a case. */
async function storedOf(name: string): Promise<StoredWeight[]> {
  const all = await openWeights(fileURLToPath(new URL('../../fixtures/packed.safetensors', import.meta.url)));
  return all.filter((weight) => weight.name.startsWith(`${name}.`));
}

describe.each(Object.entries(CASES))('%s', (name, config) => {
  it('has the values of the tool that packed it', async () => {
    const stored = await storedOf(name);
    const opened = await openPacked(stored, config, stateLayer());
    expect(opened.map((weight) => weight.name).sort()).toEqual([`${name}.expected`, `${name}.weight`]);
    const before = tf.memory().numTensors;
    const [expected, values] = await Promise.all(
      ['expected', 'weight'].map((end) =>
        opened.find((each) => each.name === `${name}.${end}`)!.read(stateLayer()),
      ),
    );
    expect(values!.shape).toEqual(expected!.shape);
    expect(await values!.data()).toEqual(await expected!.data());
    tf.dispose([expected!, values!]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('is refused with the name of a tensor that is missing or misshapen', async () => {
    const stored = (await storedOf(name)).filter((weight) => !weight.name.endsWith('.expected'));
    const marker = /(?:weight_packed|weight_scale|qweight|bitsandbytes__nf4)$/;
    for (const damaged of stored.filter((weight) => !marker.test(weight.name))) {
      const isOptional = damaged.name === 'gptq8.g_idx';
      const less = stored.filter((weight) => weight !== damaged);
      const wrong: StoredWeight = { ...damaged, dtype: damaged.dtype, shape: [3, 5, 7] };
      const dtype = damaged.dtype === 'int32' ? 'float32' : 'int32';
      await expect(valuesIn([...less, { ...damaged, dtype }], config)).rejects.toThrow(
        failure(
          'ACC_PACKED_WEIGHTS_INVALID',
          new RegExp(`'${damaged.name}' has elements of the type ${dtype}`),
        ),
      );
      for (const changed of isOptional ? [[...less, wrong]] : [less, [...less, wrong]]) {
        const opening = openPacked(changed, config, stateLayer());
        await expect(opening).rejects.toThrow(
          failure('ACC_PACKED_WEIGHTS_INVALID', new RegExp(`'${damaged.name}'`)),
        );
      }
    }
  });
});

it.each([
  [{ quant_method: 'fp8' }, /quant_method "fp8"/],
  [{ ...words, format: 'marlin-24' }, /"marlin-24"/],
  [{ ...words, config_groups: { group_0: { weights: { type: 'float' } } } }, /type = "float"/],
  [{ ...words, config_groups: { group_0: { weights: { strategy: 'tensor' } } } }, /strategy = "tensor"/],
  [{ ...words, config_groups: { group_0: { weights: { num_bits: 2 } } } }, /num_bits = 2/],
  [{ ...nf4, bnb_4bit_quant_storage: 'bfloat16' }, /bnb_4bit_quant_storage "bfloat16"/],
  [{ ...nf4, bnb_4bit_quant_type: 'fp4' }, /not of the type nf4/],
  [{ quant_method: 'gptq', bits: 3 }, /3 bits of gptq/],
  [{ quant_method: 'awq', bits: 4, version: 'gemv' }, /"gemv"/],
])('another quantization is refused: %j', async (config, message) => {
  await expect(openPacked([], config, stateLayer())).rejects.toThrow(
    failure('ACC_MODEL_UNSUPPORTED', message),
  );
});

it('a zero of gptq that is stored as the largest number is 0', async () => {
  const wholes = (values: readonly number[]) => ({
    dtype: 'int32' as const,
    read: () => Promise.resolve(tf.tensor1d([...values], 'int32') as tf.Tensor),
  });
  const stored: StoredWeight[] = [
    { name: 'x.qweight', shape: [1, 8], ...wholes(Array<number>(8).fill(0x21)) },
    { name: 'x.qzeros', shape: [1, 1], ...wholes([-1]) },
    {
      name: 'x.scales',
      shape: [1, 8],
      dtype: 'float32',
      read: () => Promise.resolve(tf.ones([1, 8])),
    },
  ];
  const values = await valuesIn(stored, { quant_method: 'gptq', bits: 4 });
  expect(Array.from(values).slice(0, 8)).toEqual([1, 2, 0, 0, 0, 0, 0, 0]);
});

const SMALL = {
  vocab_size: 16,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 1,
  num_attention_heads: 4,
  num_key_value_heads: 2,
};

describe('savePretrained with packed weights', () => {
  it.each([
    [{ weights: 'int8' }, 1 / 254],
    [{ weights: 'int8', granularity: { group: 32 } }, 1 / 254],
    [{ weights: 'int4', granularity: { group: 32 } }, 1 / 15],
  ] as const)('%j is what loadPretrained reads', async (options, halfStep) => {
    const model = llama(SMALL);
    await savePretrained(model, folder, options);
    const read = await loadPretrained(folder);
    for (const [i, weight] of read.weights.entries()) {
      const values = model.weights[i]!.read();
      const isPacked = weight.originalName.includes('proj');
      const largest = tf.max(tf.abs(values)).dataSync()[0]!;
      const error = tf.max(tf.abs(tf.sub(weight.read(), values))).dataSync()[0]!;
      expect(error).toBeLessThanOrEqual(isPacked ? 1.001 * halfStep * largest : 0);
      if (isPacked) expect(error).toBeGreaterThan(0);
    }
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as object;
    expect(config).toMatchObject({ quantization_config: { format: 'pack-quantized', ignore: ['lm_head'] } });
    model.dispose();
    read.dispose();
  });

  it('a packed weight beside the same weight is refused', async () => {
    const model = llama(SMALL);
    await savePretrained(model, folder, { weights: 'int8', maxShardSize: Infinity });
    const name = 'model.layers.0.mlp.up_proj.weight';
    const path = join(folder, 'model.safetensors');
    const file = await readFile(path);
    const length = Number(file.readBigUInt64LE());
    const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Record<string, unknown>;
    header[name] = {
      dtype: 'F32',
      shape: [1],
      data_offsets: [file.length - 8 - length, file.length - 4 - length],
    };
    const text = Buffer.from(JSON.stringify(header));
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(text.length));
    await writeFile(path, Buffer.concat([size, text, file.subarray(8 + length), Buffer.alloc(4)]));
    await expect(loadPretrained(folder)).rejects.toThrow(
      failure('ACC_WEIGHTS_MISMATCH', /two tensors for the weight 'model\.layers\.0\.mlp\.up_proj\.weight'/),
    );
    model.dispose();
  });

  it('refuses what it cannot pack', async () => {
    const model = llama(SMALL);
    await expect(savePretrained(model, folder, { weights: 'int4' })).rejects.toThrow(
      failure('ACC_QUANTIZE_SHAPE', /q_proj\.weight' has rows of 64 values, which groups of 128/),
    );
    await expect(savePretrained(model, folder, { granularity: 'row' })).rejects.toThrow(
      failure('ACC_INVALID_OPTION', /granularity is for packed weights/),
    );
    const other = gpt2({ n_embd: 8, n_head: 2, n_layer: 1, vocab_size: 4 });
    await expect(savePretrained(other, folder, { weights: 'int8' })).rejects.toThrow(
      failure('ACC_INVALID_OPTION', /'gpt2'/),
    );
    const kernel = model.weights.find(({ originalName }) => originalName.endsWith('q_proj/kernel'))!;
    kernel.write(tf.fill(kernel.shape as number[], NaN));
    await expect(savePretrained(model, folder, { weights: 'int8' })).rejects.toThrow(
      failure('ACC_QUANTIZE_VALUES', /q_proj\.weight'/),
    );
    model.dispose();
    other.dispose();
  });

  it('a quantization of another model, or that is no object, is refused', async () => {
    const model = gpt2({ n_embd: 8, n_head: 2, n_layer: 1, vocab_size: 4 });
    await savePretrained(model, folder);
    model.dispose();
    const path = join(folder, 'config.json');
    const config = JSON.parse(await readFile(path, 'utf8')) as object;
    await writeFile(path, JSON.stringify({ ...config, quantization_config: 'gptq' }));
    await expect(loadPretrained(folder)).rejects.toThrow(
      failure('ACC_MODEL_CONFIG_INVALID', /quantization_config/),
    );
    await writeFile(path, JSON.stringify({ ...config, quantization_config: nf4 }));
    await expect(loadPretrained(folder)).rejects.toThrow(failure('ACC_MODEL_UNSUPPORTED', /type 'gpt2'/));
  });
});
