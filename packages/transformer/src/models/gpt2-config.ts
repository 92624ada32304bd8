import * as z from 'zod';
import { ACTIVATION_NAMES } from '../layers/activations.js';

const count = z.number().int().positive();
const share = z.number().min(0).lt(1);

/** The fields of GPT-2's config.json that numbers depend on, with the defaults of `transformers`. */
export const gpt2Schema = z.object({
  model_type: z.literal('gpt2').default('gpt2'),
  vocab_size: count.default(50_257),
  n_positions: count.default(1024),
  n_embd: count.default(768),
  n_layer: count.default(12),
  n_head: count.default(12),
  /** Null: 4 · n_embd. */
  n_inner: count.nullable().default(null),
  activation_function: z.enum(ACTIVATION_NAMES).default('gelu_new'),
  resid_pdrop: share.default(0.1),
  embd_pdrop: share.default(0.1),
  attn_pdrop: share.default(0.1),
  layer_norm_epsilon: z.number().nonnegative().default(1e-5),
  initializer_range: z.number().nonnegative().default(0.02),
  tie_word_embeddings: z.literal(true, { error: 'expected true: GPT-2 shares one matrix' }).default(true),
  scale_attn_weights: z.literal(true, { error: 'expected true: scores are scaled' }).default(true),
  scale_attn_by_inverse_layer_idx: z.literal(false, { error: 'expected false' }).default(false),
  reorder_and_upcast_attn: z.boolean().default(false),
  add_cross_attention: z.literal(false, { error: 'expected false: there is no encoder' }).default(false),
});

export type Gpt2Config = z.input<typeof gpt2Schema>;
export type ResolvedGpt2Config = z.output<typeof gpt2Schema>;
