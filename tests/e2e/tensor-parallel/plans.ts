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
