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
  /** The values of a tensor that exists. */
  readonly valuesOf: (name: string) => Promise<Float32Array>;
  /** The path of the file. */
  readonly where: string;
}

/**
 * Keys under which a file may say that the model computes something else than Llama, with the value that
 * says it does not. So does a key that is missing.
 */
const OTHER_MODELS: readonly (readonly [key: string, neutral: 0 | 1])[] = [
  ['expert_count', 0],
  ['attention.causal', 1],
  ['attention.sliding_window', 0],
  ['attention.clamp_kqv', 0],
  ['attention.max_alibi_bias', 0],
  ['attention.scale', 0],
  ['logit_scale', 0],
  ['residual_scale', 0],
  ['embedding_scale', 0],
  ['attn_logit_softcapping', 0],
  ['final_logit_softcapping', 0],
  ['rope.scaling.attn_factor', 1],
];

/** Factors of the frequencies of positions, which are no weight. */
export const ROPE_FACTORS = 'rope_freqs.weight';

/**
 * The config of a Llama from the metadata of a GGUF file.
 *
 * @throws AccError `ACC_MODEL_UNSUPPORTED`, `ACC_MODEL_CONFIG_INVALID`, `ACC_INVALID_OPTION`.
 */
export async function configOfMetadata(described: Described): Promise<ResolvedLlamaConfig> {
  const { shapeOf, where } = described;
  requireLlama(described);
  const count = (key: string) => required(described, key);
  const heads = count('attention.head_count');
  const hidden = count('embedding_length');
  const headDim = headWidth(described, hidden / heads);
  const config: LlamaConfig = {
    vocab_size: shapeOf('token_embd.weight')?.[0] ?? count('vocab_size'),
    hidden_size: hidden,
    intermediate_size: count('feed_forward_length'),
    num_hidden_layers: count('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: optional(described, 'attention.head_count_kv') ?? heads,
    head_dim: headDim,
    max_position_embeddings: count('context_length'),
    rms_norm_eps: count('attention.layer_norm_rms_epsilon'),
    rope_parameters: await ropeOf(described, (headDim ?? hidden / heads) / 2),
    attention_bias: shapeOf('blk.0.attn_q.bias') !== undefined,
    mlp_bias: shapeOf('blk.0.ffn_gate.bias') !== undefined,
    tie_word_embeddings: shapeOf('output.weight') === undefined,
  };
  return parseOptions(where, llamaSchema, config);
}

function requireLlama({ metadata, where }: Described): void {
  const files = metadata.get('split.count') ?? 1;
  if (files !== 1 && files !== 0) {
    throw unsupportedModel(
      where,
      `it is one of ${String(files)} files of a model, which llama.cpp's llama-gguf-split --merge makes one file`,
    );
  }
  const architecture = metadata.get('general.architecture');
  if (architecture !== 'llama') {
    throw unsupportedModel(
      where,
      `it has a model of the architecture ${JSON.stringify(architecture)}; expected "llama"`,
    );
  }
  const other = OTHER_MODELS.find(([key, neutral]) => {
    const value = metadata.get(`llama.${key}`) ?? neutral;
    return Array.isArray(value) || Number(value) !== neutral;
  });
  if (!other) return;
  const [key] = other;
  throw unsupportedModel(
    where,
    `its model has llama.${key} = ${JSON.stringify(metadata.get(`llama.${key}`))}, which the Llama of this package does not compute`,
  );
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

/**
 * As llama.cpp reads it: without a type, a factor divides all frequencies.
 *
 * @param half The pairs of columns of a head.
 */
async function ropeOf(
  described: Described,
  half: number,
): Promise<NonNullable<LlamaConfig['rope_parameters']>> {
  const { metadata, shapeOf, valuesOf, where } = described;
  const theta = optional(described, 'rope.freq_base') ?? 10_000;
  const type = metadata.get('llama.rope.scaling.type') ?? 'linear';
  if (type !== 'none' && type !== 'linear') {
    throw unsupportedModel(
      where,
      `its positions are scaled by ${JSON.stringify(type)}; expected "linear" or "none"`,
    );
  }
  const given = optional(described, 'rope.scaling.factor') ?? optional(described, 'rope.scale_linear') ?? 0;
  const factor = type === 'none' || given === 0 ? 1 : given;
  const shape = shapeOf(ROPE_FACTORS);
  if (!shape) {
    return factor === 1
      ? { rope_type: 'default', rope_theta: theta }
      : { rope_type: 'linear', rope_theta: theta, factor };
  }
  if (shape.join() !== String(half)) {
    throw unsupportedModel(where, `'${ROPE_FACTORS}' has the shape [${shape.join()}]; expected [${half}]`);
  }
  if (factor !== 1) {
    throw unsupportedModel(where, `its positions are scaled by ${factor} and by '${ROPE_FACTORS}'`);
  }
  return ropeOfFactors(await valuesOf(ROPE_FACTORS), theta, where);
}
