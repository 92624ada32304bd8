import type { SymbolicTensor } from '@tensorflow/tfjs-layers';
import { input, layers, model, type LayersModel } from '@tensorflow/tfjs-layers';
import { parseOptions } from '@acc/contract';
import {
  lastDimNormalization,
  positionEmbedding,
  tokenEmbedding,
  transformerBlock,
} from '../layers/factories.js';
import { gpt2Schema, type Gpt2Config, type ResolvedGpt2Config } from './gpt2-config.js';
import { describe } from './description.js';

/**
 * GPT-2 (Radford et al. 2019): learned positions, layer normalisation before each part, and one matrix
 * for the embedding and the output. Its layers are `wte`, `wpe`, `h.0` …, `ln_f`; a block is a
 * `transformerBlock` with the parts `ln_1`, `attn/c_attn`, `attn/c_proj`, `ln_2`, `mlp/c_fc`,
 * `mlp/c_proj`.
 *
 * @param config The fields of the Hub's config.json, by its names and with its defaults.
 * @returns A model of tokens `[batch, length]`, int32, that gives the logits of each next token, float32
 * `[batch, length, vocab_size]`.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function gpt2(config: Gpt2Config = {}): LayersModel {
  return buildGpt2(parseOptions('gpt2', gpt2Schema, config));
}

/** @param initializerRange Replaces that of the config: 0 draws nothing. */
export function buildGpt2(
  config: ResolvedGpt2Config,
  initializerRange = config.initializer_range,
): LayersModel {
  const { vocab_size: vocabularySize, n_positions: positions, n_embd: units, n_layer: count } = config;
  const tokens = input({ shape: [null], dtype: 'int32', name: 'tokens' });
  const embedding = tokenEmbedding({ name: 'wte', vocabularySize, units, initializerRange });
  let x = embedding.apply(tokens) as SymbolicTensor;
  x = positionEmbedding({ name: 'wpe', positions, initializerRange }).apply(x) as SymbolicTensor;
  if (config.embd_pdrop > 0) {
    x = layers.dropout({ name: 'drop', rate: config.embd_pdrop }).apply(x) as SymbolicTensor;
  }
  for (let i = 0; i < count; i++) x = block(config, `h.${i}`, initializerRange).apply(x) as SymbolicTensor;
  x = lastDimNormalization({ name: 'ln_f', epsilon: config.layer_norm_epsilon }).apply(x) as SymbolicTensor;
  const logits = embedding.apply(x) as SymbolicTensor;
  return describe(model({ inputs: tokens, outputs: logits, name: 'gpt2' }), config);
}

function block(config: ResolvedGpt2Config, name: string, initializerRange: number) {
  return transformerBlock({
    name,
    heads: config.n_head,
    causal: true,
    fused: true,
    attentionDropout: config.attn_pdrop,
    epsilon: config.layer_norm_epsilon,
    activation: config.activation_function,
    innerUnits: config.n_inner ?? 4 * config.n_embd,
    dropout: config.resid_pdrop,
    initializerRange,
    // The sum over all blocks then has the variance of one (Radford et al. 2019).
    outputInitializerRange: initializerRange / Math.sqrt(2 * config.n_layer),
  });
}
