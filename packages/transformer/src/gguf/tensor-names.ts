import type { ResolvedLlamaConfig } from '../models/llama-config.js';

/** The names of llama.cpp's tensors and of the Hub's, for Llama: `gguf.TensorNameMap` of its package. */
const MODULES: readonly (readonly [gguf: string, hub: string])[] = [
  ['token_embd', 'model.embed_tokens'],
  ['output_norm', 'model.norm'],
  ['output', 'lm_head'],
];

/** Of `blk.0` and `model.layers.0`. */
const PARTS: readonly (readonly [gguf: string, hub: string])[] = [
  ['attn_norm', 'input_layernorm'],
  ['ffn_norm', 'post_attention_layernorm'],
  ['attn_q', 'self_attn.q_proj'],
  ['attn_k', 'self_attn.k_proj'],
  ['attn_v', 'self_attn.v_proj'],
  ['attn_output', 'self_attn.o_proj'],
  ['ffn_gate', 'mlp.gate_proj'],
  ['ffn_up', 'mlp.up_proj'],
  ['ffn_down', 'mlp.down_proj'],
];

const TO_HUB = { modules: new Map(MODULES), parts: new Map(PARTS), blocks: /^blk\.(\d+)\.(.+)$/ };
const TO_GGUF = {
  modules: new Map(MODULES.map(([gguf, hub]) => [hub, gguf])),
  parts: new Map(PARTS.map(([gguf, hub]) => [hub, gguf])),
  blocks: /^model\.layers\.(\d+)\.(.+)$/,
};

/** The Hub's name of a tensor, or the name itself if the Hub's Llama has no such tensor. */
export const hubNameOf = (name: string): string => renamed(name, TO_HUB, 'model.layers');

/** The inverse of {@link hubNameOf}. */
export const ggufNameOf = (name: string): string => renamed(name, TO_GGUF, 'blk');

function renamed(name: string, { modules, parts, blocks }: typeof TO_HUB, blockName: string): string {
  const end = name.lastIndexOf('.');
  const [module, leaf] = [name.slice(0, end), name.slice(end)];
  const whole = modules.get(module);
  if (whole !== undefined) return whole + leaf;
  const [, block, part] = blocks.exec(module) ?? [];
  const other = part === undefined ? undefined : parts.get(part);
  return other === undefined ? name : `${blockName}.${block}.${other}${leaf}`;
}

/**
 * The row in the Hub's file of each row in a GGUF file. llama.cpp rotates neighbouring rows of a head, and
 * the Hub's Llama those that are half a head apart, so the converter moves the rows of queries and keys.
 * Undefined: the rows are the same.
 *
 * @param name The Hub's name.
 */
export function rowOrder(
  name: string,
  rows: number,
  { num_attention_heads: heads, num_key_value_heads: kvHeads }: ResolvedLlamaConfig,
): ((row: number) => number) | undefined {
  const [, projection] = /\.self_attn\.([qk])_proj\.(?:weight|bias)$/.exec(name) ?? [];
  if (projection === undefined) return undefined;
  const half = rows / (projection === 'q' ? heads : (kvHeads ?? heads)) / 2;
  // Other shapes are refused as such.
  if (!Number.isInteger(half)) return undefined;
  return (row) => {
    const inHead = row % (2 * half);
    return row - inHead + (inHead % 2) * half + (inHead >> 1);
  };
}
