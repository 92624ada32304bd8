import { parseOptions } from '@acc/contract';
import { llamaSchema, type LlamaConfig, type ResolvedLlamaConfig } from '../models/llama-config.js';
import { invalidMetadata, unsupportedModel } from './errors.js';
import type { MetadataValue } from './read-metadata.js';
import { ropeOfFactors } from './rope-factors.js';

/** The parts of a file that a config is made of. */
export interface Described {
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  /** The shape of a tensor. Undefined: there is none. */
  readonly shapeOf: (name: string) => readonly number[] | undefined;
  /** The values of `rope_freqs.weight`. Undefined: there is no such tensor. */
  readonly ropeFactors: Float32Array | undefined;
  /** The path of the file. */
  readonly where: string;
}

/** Keys under which a file says that the model computes something else than Llama. */
const OTHER_MODELS = [
  'expert_count',
  'attention.sliding_window',
  'attention.clamp_kqv',
  'attention.max_alibi_bias',
  'attention.scale',
  'logit_scale',
  'residual_scale',
  'embedding_scale',
  'attn_logit_softcapping',
  'final_logit_softcapping',
];

/**
 * The config of a Llama from the metadata of a GGUF file.
 *
 * @throws AccError `ACC_MODEL_UNSUPPORTED`, `ACC_MODEL_CONFIG_INVALID`, `ACC_INVALID_OPTION`.
 */
export function configOfMetadata(described: Described): ResolvedLlamaConfig {
  const { metadata, shapeOf, where } = described;
  const architecture = metadata.get('general.architecture');
  if (architecture !== 'llama') {
    throw unsupportedModel(
      where,
      `it has a model of the architecture ${JSON.stringify(architecture)}; expected "llama"`,
    );
  }
  const other = OTHER_MODELS.find((key) => metadata.get(`llama.${key}`));
  if (other !== undefined) {
    throw unsupportedModel(
      where,
      `its model has llama.${other}, which the Llama of this package does not compute`,
    );
  }
  const count = (key: string) => required(described, key);
  const heads = count('attention.head_count');
  const hidden = count('embedding_length');
  const config: LlamaConfig = {
    vocab_size: shapeOf('token_embd.weight')?.[0] ?? count('vocab_size'),
    hidden_size: hidden,
    intermediate_size: count('feed_forward_length'),
    num_hidden_layers: count('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: optional(described, 'attention.head_count_kv') ?? heads,
    head_dim: headWidth(described, hidden / heads),
    max_position_embeddings: count('context_length'),
    rms_norm_eps: count('attention.layer_norm_rms_epsilon'),
    rope_parameters: ropeOf(described),
    attention_bias: shapeOf('blk.0.attn_q.bias') !== undefined,
    mlp_bias: shapeOf('blk.0.ffn_gate.bias') !== undefined,
    tie_word_embeddings: shapeOf('output.weight') === undefined,
  };
  return parseOptions(where, llamaSchema, config);
}

function optional({ metadata, where }: Described, key: string): number | undefined {
  const value = metadata.get(`llama.${key}`);
  if (value === undefined || typeof value === 'number') return value;
  if (Array.isArray(value)) throw unsupportedModel(where, `llama.${key} differs between layers`);
  throw invalidMetadata(where, `llama.${key} is ${JSON.stringify(value)}; expected a number`);
}

function required(described: Described, key: string): number {
  const value = optional(described, key);
  if (value !== undefined) return value;
  throw invalidMetadata(described.where, `its metadata lacks llama.${key}`);
}

/** Null: the width divided by the number of heads. */
function headWidth(described: Described, usual: number): number | null {
  const key = optional(described, 'attention.key_length') ?? usual;
  const value = optional(described, 'attention.value_length') ?? key;
  const rotated = optional(described, 'rope.dimension_count') ?? key;
  if (value === key && rotated === key) return key === usual ? null : key;
  throw unsupportedModel(
    described.where,
    `its heads have ${key} columns of keys, ${rotated} of which are rotated, and ${value} of values; expected one number`,
  );
}

function ropeOf(described: Described): NonNullable<LlamaConfig['rope_parameters']> {
  const { metadata, ropeFactors, where } = described;
  const theta = optional(described, 'rope.freq_base') ?? 10_000;
  if (ropeFactors) return ropeOfFactors(ropeFactors, theta, where);
  const type = metadata.get('llama.rope.scaling.type') ?? 'none';
  if (type === 'none') return { rope_type: 'default', rope_theta: theta };
  if (type !== 'linear')
    throw unsupportedModel(
      where,
      `its positions are scaled by ${JSON.stringify(type)}; expected "linear" or "none"`,
    );
  return { rope_type: 'linear', rope_theta: theta, factor: required(described, 'rope.scaling.factor') };
}
