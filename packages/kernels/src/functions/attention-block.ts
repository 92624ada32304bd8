import { tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AttentionBlock } from '@acc/contract';
import { activeSlots } from '../slots.js';
import {
  blockGradientInPlainOps,
  blockInPlainOps,
  type BlockSettings,
} from './attention-block-in-plain-ops.js';

/**
 * Attention to a block of keys, which is combined with that to others by `logSums`. Runs beside the
 * tape. The caller disposes the results.
 *
 * @param qkv As those of `scaledDotProductAttention`.
 */
export function attentionBlock(
  qkv: readonly [q: Tensor, k: Tensor, v: Tensor],
  settings: BlockSettings,
): AttentionBlock {
  const { functions } = activeSlots();
  const fused = settings.keep ? undefined : functions?.attentionBlock?.(...qkv, settings);
  if (fused) return fused;
  let block!: AttentionBlock;
  tidy(() => {
    block = blockInPlainOps(qkv, settings);
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
  settings: BlockSettings,
): [dq: Tensor, dk: Tensor, dv: Tensor] {
  const { functions } = activeSlots();
  const fused = settings.keep ? undefined : functions?.attentionBlockGradient?.(dy, qkv, all, settings);
  return fused ?? tidy(() => blockGradientInPlainOps(dy, qkv, all, settings));
}
