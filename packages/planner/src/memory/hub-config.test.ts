import { describe, expect, it } from 'vitest';
import { tensorsOf } from './architecture.js';
import { readHubConfig } from './hub-config.js';
import { sizesOf } from './model-sizes.js';

/** The sizes that the published config.json of each model gives. */
const LLAMA_2 = {
  ...{ model_type: 'llama', hidden_size: 4096, intermediate_size: 11008, num_attention_heads: 32 },
  ...{ num_hidden_layers: 32, num_key_value_heads: 32, vocab_size: 32000, tie_word_embeddings: false },
};
const LLAMA_3 = { ...LLAMA_2, intermediate_size: 14336, num_key_value_heads: 8, vocab_size: 128256 };
const SMALL_LLAMA = {
  ...{ ...LLAMA_3, hidden_size: 2048, intermediate_size: 8192, num_hidden_layers: 16, head_dim: 64 },
  tie_word_embeddings: true,
};
const GPT2 = {
  model_type: 'gpt2',
  n_embd: 768,
  n_head: 12,
  n_layer: 12,
  n_positions: 1024,
  vocab_size: 50257,
};

const parametersOf = (config: Record<string, unknown>): number => {
  const architecture = readHubConfig(config, 'config.json');
  return sizesOf(tensorsOf(architecture), architecture).parameters;
};

const failureOf = (config: Record<string, unknown>): unknown => {
  try {
    return readHubConfig(config, 'config.json');
  } catch (error) {
    return error;
  }
};

describe('the parameters of', () => {
  it.each([
    ['GPT-2 small', GPT2, 124_439_808],
    ['GPT-2 XL', { ...GPT2, n_embd: 1600, n_head: 25, n_layer: 48 }, 1_557_611_200],
    [
      'GPT-2 small with a head of its own',
      { ...GPT2, tie_word_embeddings: false },
      124_439_808 + 50257 * 768,
    ],
    ['GPT-2 small by its defaults', { model_type: 'gpt2' }, 124_439_808],
    ['Llama 2 7B', LLAMA_2, 6_738_415_616],
    ['Llama 3 8B', LLAMA_3, 8_030_261_248],
    ['Llama 3.2 1B', SMALL_LLAMA, 1_235_814_400],
    ['Mistral 7B', { ...LLAMA_3, model_type: 'mistral', vocab_size: 32000 }, 7_241_732_096],
    // 32 layers of q, k, v, o: 4096 each.
    [
      'Llama 2 7B with biases in attention',
      { ...LLAMA_2, attention_bias: true },
      6_738_415_616 + 32 * 4 * 4096,
    ],
    [
      'Llama 2 7B with biases in the MLP',
      { ...LLAMA_2, mlp_bias: true },
      6_738_415_616 + 32 * (2 * 11008 + 4096),
    ],
  ])('%s', (_, config, parameters) => expect(parametersOf(config)).toBe(parameters));
});

describe('a config.json', () => {
  it.each([
    ['of another kind', { model_type: 'bert' }, 'ACC_MODEL_UNKNOWN'],
    ['without a kind', {}, 'ACC_MODEL_UNKNOWN'],
    ['without a size', { ...LLAMA_2, hidden_size: undefined }, 'ACC_MODEL_CONFIG_INVALID'],
    ['with a size that is not a number', { ...GPT2, n_layer: 'twelve' }, 'ACC_MODEL_CONFIG_INVALID'],
    ['with a size of 0', { ...GPT2, n_layer: 0 }, 'ACC_MODEL_CONFIG_INVALID'],
    [
      'with a flag that is not a boolean',
      { ...GPT2, tie_word_embeddings: 'yes' },
      'ACC_MODEL_CONFIG_INVALID',
    ],
    ['whose heads do not divide its width', { ...GPT2, n_head: 7 }, 'ACC_MODEL_CONFIG_INVALID'],
    [
      'with parameters that are not known',
      { ...GPT2, add_cross_attention: true },
      'ACC_MODEL_CONFIG_INVALID',
    ],
  ])('%s is refused', (_, config, code) => expect(failureOf(config)).toMatchObject({ code }));

  it('names the known kinds and the way around', () => {
    const help = expect.stringMatching(/gpt2, llama, mistral.*--parameters/) as unknown;
    expect(failureOf({ model_type: 'bert' })).toMatchObject({ help });
  });
});
