import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { generate, gpt2, llama, multiHeadAttention, tokenEmbedding } from '../index.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const VOCABULARY = 23;
const MODELS: Readonly<Record<string, () => tf.LayersModel>> = {
  'GPT-2': () =>
    gpt2({
      vocab_size: VOCABULARY,
      n_positions: 16,
      n_embd: 12,
      n_layer: 2,
      n_head: 2,
      initializer_range: 0.5,
    }),
  Llama: () =>
    llama({
      vocab_size: VOCABULARY,
      hidden_size: 16,
      intermediate_size: 24,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      initializer_range: 0.5,
    }),
};
const PROMPTS = [
  [3, 1, 4, 1],
  [2, 7, 1, 8],
  [0, 5, 7, 7],
];

describe.each(Object.entries(MODELS))('%s', (_, make) => {
  it('continues with kept keys and values as without, with any way to choose', () => {
    const model = make();
    for (const options of [{}, { temperature: 1.5, seed: 3 }, { topK: 4, seed: 5 }, { topP: 0.6, seed: 8 }]) {
      const created = [true, false].map((useCache) =>
        generate(model, PROMPTS, { maxNewTokens: 10, useCache, ...options }).arraySync(),
      );
      expect(created[0]).toEqual(created[1]);
      expect(created[0]!.map((row) => row.slice(0, 4))).toEqual(PROMPTS);
      expect(created[0]!.every((row) => row.length === 14)).toBe(true);
    }
    model.dispose();
  });

  it('takes what the logits of one call say, and leaves one tensor', () => {
    const empty = tf.memory().numTensors;
    const model = make();
    const before = tf.memory();
    const created = generate(model, PROMPTS, { maxNewTokens: 9 });
    expect(tf.memory().numTensors).toBe(before.numTensors + 1);
    expect(tf.memory().numDataBuffers).toBe(before.numDataBuffers + 1);
    const best = tf.tidy(() => tf.argMax(model.apply(created) as tf.Tensor, -1).arraySync()) as number[][];
    created.arraySync().forEach((row, i) => expect(row.slice(4)).toEqual(best[i]!.slice(3, -1)));
    created.dispose();
    model.dispose();
    expect(tf.memory().numTensors).toBe(empty);
  });

  it('draws the same tokens for a seed, whatever the other rows are', () => {
    const model = make();
    const draw = (prompts: number[][], seed?: number) =>
      generate(model, prompts, {
        maxNewTokens: 12,
        temperature: 2,
        ...(seed !== undefined && { seed }),
      }).arraySync();
    expect(draw(PROMPTS, 1)).toEqual(draw(PROMPTS, 1));
    expect(draw(PROMPTS, 1)).not.toEqual(draw(PROMPTS, 2));
    expect(draw(PROMPTS.slice(0, 1), 1)[0]).toEqual(draw(PROMPTS, 1)[0]);
    // 36 draws from 23 tokens, all alike, do not happen.
    expect(draw(PROMPTS)).not.toEqual(draw(PROMPTS));
    model.dispose();
  });

  it('fills the row of a text that has ended, and stops when all have', () => {
    const model = make();
    const free = generate(model, PROMPTS, { maxNewTokens: 12 }).arraySync();
    const eosToken = free[0]![6]!;
    const ended = generate(model, PROMPTS, { maxNewTokens: 12, eosToken }).arraySync();
    ended.forEach((row, i) => {
      const end = free[i]!.indexOf(eosToken, 4);
      const text = end === -1 ? free[i]! : free[i]!.slice(0, end + 1);
      const rest = Array.from({ length: Math.max(0, row.length - text.length) }, () => eosToken);
      expect(row).toEqual([...text, ...rest].slice(0, row.length));
    });
    const alone = generate(model, PROMPTS[0]!, { maxNewTokens: 12, eosToken }).arraySync();
    expect(alone).toEqual([free[0]!.slice(0, free[0]!.indexOf(eosToken, 4) + 1)]);
    model.dispose();
  });
});

it('reads several positions after those in the cache as it reads all at once', async () => {
  const { KeyValueCache } = await import('../index.js');
  const model = MODELS['Llama']!();
  const tokens = tf.tensor2d([[1, 2, 3, 4, 5, 6, 7]], undefined, 'int32');
  const full = model.apply(tokens) as tf.Tensor;
  const cache = new KeyValueCache();
  const parts = [
    [0, 3],
    [3, 3],
    [6, 1],
  ].map(([start, length]) => {
    const logits = model.apply(tf.slice(tokens, [0, start!], [1, length!]), { cache }) as tf.Tensor;
    cache.advance(length!);
    return logits;
  });
  const [actual, expected] = [tf.concat(parts, 1), full].map((x) => Array.from(x.dataSync()));
  const size = Math.max(...expected!.map(Math.abs));
  actual!.forEach((value, i) => expect(Math.abs(value - expected![i]!)).toBeLessThan(1e-4 * size));
  cache.dispose();
});

it.each([{}, { temperature: 1 }])('refuses the logits of a diverged model, with %j', (options) => {
  const model = MODELS['GPT-2']!();
  const weight = model.weights[0]!;
  tf.tidy(() => void weight.write(tf.mul(weight.read(), NaN)));
  const before = tf.memory().numTensors;
  expect(() => generate(model, PROMPTS, { maxNewTokens: 2, ...options })).toThrow(
    expect.objectContaining({ code: 'ACC_GENERATION_NOT_FINITE' }) as Error,
  );
  expect(tf.memory().numTensors).toBe(before);
  model.dispose();
});

describe('generate refuses', () => {
  const small = () => MODELS['GPT-2']!();
  const own = (causal: boolean) => {
    const input = tf.input({ shape: [null], dtype: 'int32' });
    const embedding = tokenEmbedding({ vocabularySize: 5, units: 4 });
    const x = embedding.apply(input) as tf.SymbolicTensor;
    const y = multiHeadAttention({ heads: 2, causal }).apply(x) as tf.SymbolicTensor;
    return tf.model({ inputs: input, outputs: embedding.apply(y) as tf.SymbolicTensor });
  };
  const plain = () => {
    const input = tf.input({ shape: [null], dtype: 'int32' });
    const embedding = tokenEmbedding({ vocabularySize: 5, units: 4 });
    const x = embedding.apply(input) as tf.SymbolicTensor;
    return tf.model({ inputs: input, outputs: embedding.apply(x) as tf.SymbolicTensor });
  };
  it.each<[string, () => unknown, string]>([
    ['no model', () => generate({} as never, [1], { maxNewTokens: 1 }), 'ACC_INVALID_ARGUMENT'],
    ['a misspelt option', () => generate(small(), [1], { maxTokens: 1 } as never), 'ACC_UNKNOWN_OPTION'],
    ['no number of tokens', () => generate(small(), [1], {} as never), 'ACC_INVALID_OPTION'],
    [
      'a probability above 1',
      () => generate(small(), [1], { maxNewTokens: 1, topP: 2 }),
      'ACC_INVALID_OPTION',
    ],
    [
      'rows of other lengths',
      () => generate(small(), [[1], [1, 2]], { maxNewTokens: 1 }),
      'ACC_SHAPE_MISMATCH',
    ],
    ...Object.entries({
      'a temperature below 0': { temperature: -1 },
      'no finite temperature': { temperature: Infinity },
      'a temperature of no number': { temperature: NaN },
      'a probability of 0': { topP: 0 },
      'a probability below 0': { topP: -0.5 },
      'no most probable tokens': { topK: 0 },
      'a broken number of most probable tokens': { topK: 2.5 },
      'fewer than no new tokens': { maxNewTokens: -1 },
      'a broken number of new tokens': { maxNewTokens: 1.5 },
      'a broken end': { eosToken: 3.7 },
      'a broken seed': { seed: 0.5 },
    }).map(([name, options]): [string, () => unknown, string] => [
      name,
      () => generate(small(), [1], { maxNewTokens: 1, ...options }),
      'ACC_INVALID_OPTION',
    ]),
    ...Object.entries({
      'a broken token': [1, 3.7],
      'a broken token in a tensor': tf.tensor1d([1, 3.7]),
      'a token of no number': [NaN],
      'a token of no number in a tensor': tf.tensor1d([NaN]),
      'tokens of another dtype': tf.tensor1d([true], 'bool'),
      'texts for tokens': tf.tensor1d(['a'], 'string'),
    }).map(([name, tokens]): [string, () => unknown, string] => [
      name,
      () => generate(small(), tokens, { maxNewTokens: 1 }),
      'ACC_INVALID_ARGUMENT',
    ]),
    [
      'an end beyond the vocabulary',
      () => generate(small(), [1], { maxNewTokens: 1, eosToken: VOCABULARY }),
      'ACC_INVALID_ARGUMENT',
    ],
    ['no prompt', () => generate(small(), [], { maxNewTokens: 1 }), 'ACC_SHAPE_MISMATCH'],
    ['an empty tensor', () => generate(small(), tf.zeros([0, 3]), { maxNewTokens: 1 }), 'ACC_SHAPE_MISMATCH'],
    ['an empty prompt', () => generate(small(), [[]], { maxNewTokens: 1 }), 'ACC_SHAPE_MISMATCH'],
    ['a token below 0', () => generate(small(), [-1], { maxNewTokens: 1 }), 'ACC_INVALID_ARGUMENT'],
    [
      'a token beyond the vocabulary',
      () => generate(small(), [99], { maxNewTokens: 1 }),
      'ACC_INVALID_ARGUMENT',
    ],
    [
      'such a token in a tensor',
      () => generate(small(), tf.tensor2d([[1, -1]], [1, 2], 'int32'), { maxNewTokens: 1 }),
      'ACC_INVALID_ARGUMENT',
    ],
    ['too many positions', () => generate(small(), [1, 2], { maxNewTokens: 16 }), 'ACC_SEQUENCE_TOO_LONG'],
    [
      'attention to later positions',
      () => generate(own(false), [1], { maxNewTokens: 1 }),
      'ACC_CACHE_UNSUPPORTED',
    ],
    ['a model without attention', () => generate(plain(), [1], { maxNewTokens: 1 }), 'ACC_CACHE_UNSUPPORTED'],
  ])('%s', (_, act, code) => {
    expect(act).toThrowError(expect.objectContaining({ code }));
  });

  it('nothing that it can do', () => {
    const draw = (topK?: number) =>
      generate(small(), [1], { maxNewTokens: 5, seed: 3, ...(topK && { topK }) }).dataSync().length;
    expect([draw(VOCABULARY), draw(VOCABULARY + 40), draw()]).toEqual([6, 6, 6]);
    expect(generate(plain(), [1], { maxNewTokens: 2, useCache: false }).shape).toEqual([1, 3]);
    expect(generate(own(true), tf.tensor1d([1, 2]), { maxNewTokens: 0 }).arraySync()).toEqual([[1, 2]]);
  });
});
