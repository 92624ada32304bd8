import { FeedForward, SwiGlu, type FeedForwardArgs, type SwiGluArgs } from './feed-forward.js';
import {
  PositionEmbedding,
  TokenEmbedding,
  type PositionEmbeddingArgs,
  type TokenEmbeddingArgs,
} from './embeddings.js';
import { MultiHeadAttention, type MultiHeadAttentionArgs } from './multi-head-attention.js';
import { Moe } from '../moe/moe.js';
import type { MoeArgs } from '../moe/options.js';
import { LastDimNormalization, RmsNormalization, type RmsNormalizationArgs } from './norms.js';
import { registerLayers } from './register.js';
import { RotaryEmbedding, type RotaryEmbeddingArgs } from './rotary-embedding.js';
import { TransformerBlock, type TransformerBlockArgs } from './transformer-block.js';

/**
 * Attention over several heads (Vaswani et al. 2017), whose heads of keys and values may be shared
 * (Ainslie et al. 2023). On `acc`, the attention is one kernel with memory linear in the length.
 *
 * Input float32 `[batch, length, width]`, output the same. A second input `[batch, keys]`, or the mask
 * of a layer before, hides keys where it is 0. A query that sees no key gets the bias of the output.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_SHAPE_MISMATCH` when it is built.
 */
export function multiHeadAttention(args: MultiHeadAttentionArgs): MultiHeadAttention {
  registerLayers();
  return new MultiHeadAttention(args);
}

/**
 * x / √(mean(x²) + ε) · gamma over the last dim (Zhang and Sennrich 2019). Output as the input.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function rmsNormalization(args: RmsNormalizationArgs = {}): RmsNormalization {
  registerLayers();
  return new RmsNormalization(args);
}

/** Layer normalisation over the last dim (Ba et al. 2016). Internal: tfjs-layers has one, too. */
export function lastDimNormalization(args: RmsNormalizationArgs = {}): LastDimNormalization {
  registerLayers();
  return new LastDimNormalization(args);
}

/**
 * Rotates columns i and i + dim/2 of each row of float32 `[..., length, dim]` by an angle that grows
 * with the position of the row (Su et al. 2021). `multiHeadAttention` does it to queries and keys with
 * `rotary`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_SHAPE_MISMATCH` for an odd dim.
 */
export function rotaryEmbedding(args: RotaryEmbeddingArgs = {}): RotaryEmbedding {
  registerLayers();
  return new RotaryEmbedding(args);
}

/**
 * (silu(x·gate) ⊙ x·up)·down (Shazeer 2020), of float32 `[..., width]`. Output as the input. Its parts
 * are `gate_proj`, `up_proj` and `down_proj`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function swiGlu(args: SwiGluArgs): SwiGlu {
  registerLayers();
  return new SwiGlu(args);
}

/**
 * activation(x·W₁ + b₁)·W₂ + b₂, of float32 `[..., width]`. Output as the input. Its parts are `c_fc`
 * and `c_proj`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function feedForward(args: FeedForwardArgs = {}): FeedForward {
  registerLayers();
  return new FeedForward(args);
}

/**
 * A mixture of experts: a router sends each token to `topK` of several MLPs, whose outputs are added,
 * weighted by the router's probabilities (Fedus et al., "Switch Transformers", 2021, for one expert a
 * token; Lepikhin et al., "GShard", 2020, for two). Of float32 `[..., width]`, output as the input. Its
 * parts are `router`, `experts` and `shared`.
 *
 * Gradients have those of a load-balancing loss and of the router's z loss (Zoph et al., "ST-MoE",
 * 2022), as if they were added to the loss. `routerLosses`, `tokensPerExpert` and `droppedTokens` tell about
 * the last call. Losses and capacities are those of the rows that one call on one rank gets.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_LOSS_SEED_UNKNOWN` in a backward
 * pass that begins inside the model.
 */
export function moe(args: MoeArgs): Moe {
  registerLayers();
  return new Moe(args);
}

/**
 * A block of a transformer that normalises before each part (Xiong et al. 2020): y = x +
 * attn(ln_1(x)), then y + mlp(ln_2(y)). Inputs and mask as `multiHeadAttention`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_SHAPE_MISMATCH` when it is built.
 */
export function transformerBlock(args: TransformerBlockArgs): TransformerBlock {
  registerLayers();
  return new TransformerBlock(args);
}

/**
 * The row of a matrix for each token: `[batch, length]` gives float32 `[batch, length, units]`. Called
 * a second time, on `[batch, length, units]`, it gives the products with all rows, which are the logits
 * of tokens: input and output share the matrix (Press and Wolf 2016).
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function tokenEmbedding(args: TokenEmbeddingArgs): TokenEmbedding {
  registerLayers();
  return new TokenEmbedding(args);
}

/**
 * Adds the row of a matrix for each position to float32 `[batch, length, width]`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_SEQUENCE_TOO_LONG` in a call with
 * more positions.
 */
export function positionEmbedding(args: PositionEmbeddingArgs): PositionEmbedding {
  registerLayers();
  return new PositionEmbedding(args);
}
