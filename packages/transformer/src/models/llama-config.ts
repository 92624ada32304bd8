import * as z from 'zod';

const count = z.number().int().positive();
const positive = z.number().positive();

const rope = z
  .looseObject({
    rope_theta: positive.optional(),
    rope_type: z.enum(['default', 'linear', 'llama3']).optional(),
    /** The former name of `rope_type`. */
    type: z.enum(['default', 'linear', 'llama3']).optional(),
    factor: positive.optional(),
    low_freq_factor: positive.optional(),
    high_freq_factor: positive.optional(),
    original_max_position_embeddings: positive.optional(),
  })
  .nullable();

/** The fields of Llama's config.json that numbers depend on, with the defaults of `transformers`. */
export const llamaSchema = z.object({
  model_type: z.literal('llama').default('llama'),
  vocab_size: count.default(32_000),
  hidden_size: count.default(4096),
  intermediate_size: count.default(11_008),
  num_hidden_layers: count.default(32),
  num_attention_heads: count.default(32),
  /** Null: num_attention_heads. */
  num_key_value_heads: count.nullable().default(null),
  /** Null: hidden_size / num_attention_heads. */
  head_dim: count.nullable().default(null),
  hidden_act: z.literal('silu').default('silu'),
  max_position_embeddings: count.default(2048),
  initializer_range: z.number().nonnegative().default(0.02),
  rms_norm_eps: z.number().nonnegative().default(1e-6),
  /** Of files that `transformers` 4 wrote; 5 writes it into `rope_parameters`. */
  rope_theta: positive.optional(),
  rope_scaling: rope.optional(),
  rope_parameters: rope.optional(),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  attention_dropout: z.number().min(0).lt(1).default(0),
  tie_word_embeddings: z.boolean().default(false),
});

export type LlamaConfig = z.input<typeof llamaSchema>;
export type ResolvedLlamaConfig = z.output<typeof llamaSchema>;
