import { tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock, AttentionBlockSettings } from '@acc/contract';
import { activeSlots } from '../slots.js';
import { blockGradientInPlainOps, blockInPlainOps } from './attention-block-in-plain-ops.js';

/**
 * Attention to a block of keys, which is combined with that to others by `logSums`. Runs beside the
 * tape. The caller disposes the results.
 *
 * @param q `[batch, heads, queries, dim]`; k and v as of `scaledDotProductAttention`.
 * @param keep Factors of the weights of dropout, `[batch, heads, queries, keys]`. With it, plain ops
 * compute, which allocate tensors of its shape.
 */
export function attentionBlock(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  settings: AttentionBlockSettings,
  keep?: Tensor,
): AttentionBlock {
  const fused = keep ? undefined : activeSlots().functions?.attentionBlock?.(q, k, v, settings);
  if (fused) return fused;
  let block!: AttentionBlock;
  tidy(() => {
    block = blockInPlainOps(q, k, v, settings, keep);
    return [block.output, block.logSums];
  });
  return block;
}

/**
 * The gradients of q and of the keys and values of a block, for the output of all blocks together.
 * The caller disposes them.
 *
 * @param all The output for all keys, and the logarithms of the sums over all keys.
 */
export function attentionBlockGradient(
  dy: Tensor,
  qkv: readonly [q: Tensor, k: Tensor, v: Tensor],
  all: AttentionBlock,
  settings: AttentionBlockSettings,
  keep?: Tensor,
): [dq: Tensor, dk: Tensor, dv: Tensor] {
  const { functions } = activeSlots();
  const fused = keep ? undefined : functions?.attentionBlockGradient?.(dy, qkv, all, settings);
  return fused ?? tidy(() => blockGradientInPlainOps(dy, qkv, all, settings, keep));
}
