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

describe('torchao', () => {
  const config = { quant_method: 'torchao' };
  /** The cases of fixtures/write_torchao.py. */
  const torchao = () =>
    openWeights(fileURLToPath(new URL('../../fixtures/torchao.safetensors', import.meta.url)));

  it('has the values that torchao gives, of each class and granularity', async () => {
    const opened = await openPacked(await torchao(), config, stateLayer());
    const named = new Map(opened.map((weight) => [weight.name, weight]));
    const cases = opened.filter(({ name }) => name.endsWith('.weight'));
    expect(cases).toHaveLength(10);
    expect(named.size).toBe(20);
    const before = tf.memory().numTensors;
    for (const { name, read } of cases) {
      const expected = await named.get(name.replace('.weight', '.expected'))!.read(stateLayer());
      const values = await read(stateLayer());
      expect(values.shape).toEqual([8, 64]);
      expect([name, ...values.dataSync()]).toEqual([name, ...expected.dataSync()]);
      tf.dispose([expected, values]);
    }
    expect(tf.memory().numTensors).toBe(before);
  });

  it('metadata of each file of a model are put together', async () => {
    const stored = await torchao();
    const { metadata } = stored[0]!;
    const apart = stored.map((weight): StoredWeight => {
      const of = `${weight.name.split('.')[0]}.weight`;
      return {
        ...weight,
        dtype: weight.dtype,
        metadata: { tensor_names: JSON.stringify([of]), [of]: metadata![of]! },
      };
    });
    const opened = await openPacked(apart, config, stateLayer());
    expect(opened.filter(({ name }) => name.endsWith('.weight'))).toHaveLength(10);
  });

  type Described = Readonly<Record<string, unknown>> & { readonly _data: object };
  const changed = (name: string, change: (described: Described) => object) => {
    return (metadata: Record<string, string>) => {
      metadata[name] = JSON.stringify(change(JSON.parse(metadata[name]!) as Described));
    };
  };
  const INVALID = 'ACC_PACKED_WEIGHTS_INVALID';
  const blocks =
    (...size: unknown[]) =>
    (all: Described) => ({
      ...all,
      _data: { ...all._data, block_size: size },
    });
  it.each<[string, RegExp, (metadata: Record<string, string>) => void]>([
    [INVALID, /metadata .* describe no packed weights/, (all) => delete all['tensor_names']],
    [INVALID, /metadata .* tensor_names that are no list/, (all) => (all['tensor_names'] = '{}')],
    [INVALID, /'int8\.weight' is in the tensor_names/, (all) => delete all['int8.weight']],
    [INVALID, /'int8\.weight' has a description without a _type/, (all) => (all['int8.weight'] = '{')],
    [INVALID, /'int8\.weight' has .* without _data/, changed('int8.weight', (all) => ({ ...all, _data: 3 }))],
    [INVALID, /'int8\._weight_qdata' is stored, but/, changed('int8.weight', () => ({ _type: 'Tensor' }))],
    [INVALID, /'int4\._weight_qdata' .* blocks of \[1,48\] do not/, changed('int4.weight', blocks(1, 48))],
    [INVALID, /'int4\._weight_qdata' .* blocks of \[1\] do not/, changed('int4.weight', blocks(1))],
    [
      INVALID,
      /'int4\._weight_scale' has the shape \[8,2\]; .* \[8,4\]/,
      changed('int4.weight', blocks(1, 16)),
    ],
    [INVALID, /'int4plain\._weight_qdata' has blocks of 2 rows/, changed('int4plain.weight', blocks(2, 32))],
    [
      INVALID,
      /'int4plain\._weight_qdata' has numbers for \[8,64\]; expected the shape \[8,62\]/,
      changed('int4plain.weight', (all) => ({ ...all, _data: { ...all._data, shape: [8, 62] } })),
    ],
    [
      'ACC_MODEL_UNSUPPORTED',
      /'int8\.weight' is packed as Int4TilePackedTo4dTensor, which is not read/,
      changed('int8.weight', (all) => ({ ...all, _type: 'Int4TilePackedTo4dTensor' })),
    ],
    [
      'ACC_MODEL_UNSUPPORTED',
      /'int8\.weight' has the part "extra"/,
      changed('int8.weight', (all) => ({ ...all, _tensor_data_names: ['qdata', 'extra'] })),
    ],
    [
      'ACC_MODEL_UNSUPPORTED',
      /'mlp\.gate' is a parameter that is packed as Int8Tensor/,
      (all) => {
        all['mlp.gate'] = all['int8.weight']!;
        all['tensor_names'] = '["mlp.gate"]';
      },
    ],
  ])('metadata that do not fit are %s: %s', async (code, message, change) => {
    const stored = await torchao();
    const metadata = { ...stored[0]!.metadata };
    change(metadata);
    const all = stored.map((weight) => ({ ...weight, dtype: weight.dtype, metadata }));
    await expect(openPacked(all, config, stateLayer())).rejects.toThrow(failure(code, message));
  });

  it('a part that is missing, misshapen or of another type is refused with its name', async () => {
    const stored = await torchao();
    for (const damaged of stored.filter(({ name }) => /^(?:int4plain|int8scaled)\._/.test(name))) {
      const others = stored.filter((weight) => weight !== damaged);
      const named = failure(INVALID, new RegExp(`'${damaged.name}'`));
      await expect(openPacked(others, config, stateLayer())).rejects.toThrow(named);
      const dtype = damaged.dtype === 'int32' ? 'float32' : 'int32';
      const reads: StoredWeight[] = [{ ...damaged, dtype }];
      // Zeros may be of either type. The factor's shape is that of its values.
      if (damaged.name.endsWith('zero_point')) reads.pop();
      if (!damaged.name.endsWith('pre_scale'))
        reads.push({ ...damaged, dtype: damaged.dtype, shape: [3, 5] });
      else reads.push({ ...damaged, dtype: damaged.dtype, read: () => Promise.resolve(tf.ones([3])) });
      const [of] = damaged.name.split('.');
      for (const wrong of reads) {
        const opening = openPacked([...others, wrong], config, stateLayer());
        const read = opening.then((opened) =>
          opened.find(({ name }) => name === `${of}.weight`)!.read(stateLayer()),
        );
        await expect(read).rejects.toThrow(named);
      }
    }
  });
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
