export const GPT2 = {
  vocab_size: 61,
  n_positions: 32,
  n_embd: 24,
  n_layer: 2,
  n_head: 3,
  resid_pdrop: 0,
  embd_pdrop: 0,
  attn_pdrop: 0,
} as const;

/** Four heads of queries share two of keys and values. */
export const LLAMA = {
  vocab_size: 67,
  hidden_size: 32,
  intermediate_size: 44,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
} as const;

/** Tokens `[rows, length]` below `vocabulary`, the same in each run. */
export function tokensOf(rows: number, length: number, vocabulary: number): number[][] {
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length }, (_, i) => (7 * row + 13 * i + 5 * i * i + 3) % vocabulary),
  );
}
