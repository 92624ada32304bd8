/** GPT-2 with its norms and residuals along the sequence. */
export const SEQUENCE = {
  wte: 'vocab',
  'h.*': 'sequence',
  'h.*/attn/c_attn': 'column',
  'h.*/attn/c_proj': 'row',
  'h.*/mlp/c_fc': 'column',
  'h.*/mlp/c_proj': 'row',
  ln_f: 'sequence',
} as const;

/** Llama with its norms and residuals along the sequence. */
export const LLAMA_SEQUENCE = {
  embed_tokens: 'vocab',
  'layers.*': 'sequence',
  'layers.*/attn/q_proj': 'column',
  'layers.*/attn/k_proj': 'column',
  'layers.*/attn/v_proj': 'column',
  'layers.*/attn/o_proj': 'row',
  'layers.*/mlp/gate_proj': 'column',
  'layers.*/mlp/up_proj': 'column',
  'layers.*/mlp/down_proj': 'row',
  norm: 'sequence',
  lm_head: 'vocab',
} as const;

const EMBEDDED = { tokens: 'vocab', out: 'vocab' } as const;

/** The model `norms`, whole or along the sequence. */
export const NORMS = {
  whole: EMBEDDED,
  along: { ...EMBEDDED, 'norm.*': 'sequence', 'dropout.*': 'sequence', 'add.*': 'sequence' },
} as const;
