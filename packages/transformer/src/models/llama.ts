import type { SymbolicTensor } from '@tensorflow/tfjs-layers';
import { input, layers, model, type LayersModel } from '@tensorflow/tfjs-layers';
import { AccError, parseOptions } from '@acc/contract';
import { rmsNormalization, tokenEmbedding, transformerBlock } from '../layers/factories.js';
import { normal } from '../layers/initializer.js';
import type { RotaryEmbeddingOptions } from '../layers/rotary.js';
import { describe } from './description.js';
import { llamaSchema, type LlamaConfig, type ResolvedLlamaConfig } from './llama-config.js';

/**
 * Llama (Touvron et al. 2023; Grattafiori et al. 2024): rotary positions, grouped queries, RMS
 * normalisation before each part, SwiGLU. Its layers are `embed_tokens`, `layers.0` …, `norm`,
 * `lm_head`; a block is a `transformerBlock` with the parts `ln_1`, `attn/q_proj`, `attn/k_proj`,
 * `attn/v_proj`, `attn/o_proj`, `ln_2`, `mlp/gate_proj`, `mlp/up_proj`, `mlp/down_proj`.
 *
 * @param config The fields of the Hub's config.json, by its names and with its defaults.
 * @returns A model of tokens `[batch, length]`, int32, that gives the logits of each next token, float32
 * `[batch, length, vocab_size]`.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function llama(config: LlamaConfig = {}): LayersModel {
  return buildLlama(parseOptions('llama', llamaSchema, config));
}

/** @param initializerRange Replaces that of the config: 0 draws nothing. */
export function buildLlama(
  config: ResolvedLlamaConfig,
  initializerRange = config.initializer_range,
): LayersModel {
  const { vocab_size: vocabularySize, hidden_size: units, rms_norm_eps: epsilon } = config;
  const tokens = input({ shape: [null], dtype: 'int32', name: 'tokens' });
  const embedding = tokenEmbedding({ name: 'embed_tokens', vocabularySize, units, initializerRange });
  const rotary = rotaryOf(config);
  let x = embedding.apply(tokens) as SymbolicTensor;
  for (let i = 0; i < config.num_hidden_layers; i++) {
    x = block(config, { name: `layers.${i}`, rotary, initializerRange }).apply(x) as SymbolicTensor;
  }
  x = rmsNormalization({ name: 'norm', epsilon }).apply(x) as SymbolicTensor;
  const kernelInitializer = normal(initializerRange);
  const head = config.tie_word_embeddings
    ? embedding
    : layers.dense({ name: 'lm_head', units: vocabularySize, useBias: false, kernelInitializer });
  return describe(model({ inputs: tokens, outputs: head.apply(x) as SymbolicTensor, name: 'llama' }), config);
}

interface BlockOptions {
  readonly name: string;
  readonly rotary: RotaryEmbeddingOptions;
  readonly initializerRange: number;
}

function block(config: ResolvedLlamaConfig, options: BlockOptions) {
  const { num_key_value_heads: kvHeads, head_dim: headDim } = config;
  return transformerBlock({
    ...options,
    heads: config.num_attention_heads,
    ...(kvHeads !== null && { kvHeads }),
    ...(headDim !== null && { headDim }),
    causal: true,
    attentionDropout: config.attention_dropout,
    normalization: 'rms',
    epsilon: config.rms_norm_eps,
    mlp: 'swiGlu',
    innerUnits: config.intermediate_size,
    useBias: config.attention_bias,
    mlpBias: config.mlp_bias,
  });
}

/** The rotary positions of a config of `transformers` 4 or 5. */
export function rotaryOf(config: ResolvedLlamaConfig): RotaryEmbeddingOptions {
  const given = config.rope_parameters ?? config.rope_scaling ?? {};
  const theta = given.rope_theta ?? config.rope_theta ?? 10_000;
  const type = given.rope_type ?? given.type ?? 'default';
  if (type === 'default') return { theta };
  const factor = required(given.factor, type, 'factor');
  if (type === 'linear') return { theta, scaling: { type, factor } };
  return {
    theta,
    scaling: {
      type,
      factor,
      lowFreqFactor: required(given.low_freq_factor, type, 'low_freq_factor'),
      highFreqFactor: required(given.high_freq_factor, type, 'high_freq_factor'),
      originalMaxPositions: required(
        given.original_max_position_embeddings,
        type,
        'original_max_position_embeddings',
      ),
    },
  };
}

function required(value: number | undefined, type: string, field: string): number {
  if (value !== undefined) return value;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `llama: the rope_type '${type}' needs ${field}, which is missing.`,
    {
      help: 'Compare config.json with the original.',
      details: { field },
    },
  );
}
