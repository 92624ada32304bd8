import {
  add,
  cast,
  linalg,
  log,
  matMul,
  max,
  maximum,
  mul,
  ones,
  reshape,
  softmax,
  step,
  sub,
  tile,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { AttentionBlockSettings, AttentionSettings } from '@acc/contract';
import { dropout as dropoutOf } from './dropout.js';

/** Stands for -Infinity: the difference of two infinities is NaN. */
export const UNSEEN = -1e30;

/** Attention in tfjs ops. It allocates several tensors of shape `[batch, heads, queries, keys]`. */
export function attentionInPlainOps(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  { mask, isCausal, scale, dropout }: AttentionSettings,
): Tensor {
  const heads = q.shape[1]!;
  const { scores, added } = scoresOf(q, k, { mask, isCausal, scale });
  let weights = softmax(scores);
  if (dropout > 0) weights = dropoutOf(weights, dropout);
  const output = matMul(weights, repeatHeads(v, heads));
  // With a causal mask alone, every query sees at least the first key.
  if (!mask) return output;
  const sees = step(sub(max(added!, -1, true), UNSEEN / 2));
  return mul(output, sees);
}

/** The scores with what the mask has added to them. */
export function scoresOf(
  q: Tensor,
  k: Tensor,
  { mask, isCausal, scale }: AttentionBlockSettings,
): { readonly scores: Tensor; readonly added: Tensor | undefined } {
  const scores = mul(matMul(q, repeatHeads(k, q.shape[1]!), false, true), scale);
  const [queries, keys] = scores.shape.slice(-2) as [number, number];
  const added = addedToScores(mask, isCausal, queries, keys);
  return { scores: added ? add(scores, added) : scores, added };
}

/**
 * The mask to add to the scores: UNSEEN where a query must not see a key. Returns undefined if
 * there is no mask.
 */
function addedToScores(
  mask: Tensor | undefined,
  isCausal: boolean,
  queries: number,
  keys: number,
): Tensor | undefined {
  const future = isCausal ? additive(cast(linalg.bandPart(ones([queries, keys]), -1, 0), 'bool')) : undefined;
  const given = mask && (mask.dtype === 'bool' ? additive(mask) : maximum(mask, UNSEEN));
  return given && future ? maximum(add(given, future), UNSEEN) : (given ?? future);
}

/** 0 for true, {@link UNSEEN} for false. */
function additive(mask: Tensor): Tensor {
  return maximum(log(cast(mask, 'float32')), UNSEEN);
}

/** Repeats each head of `[batch, heads, length, dim]` in turn, up to `heads` heads. */
export function repeatHeads(x: Tensor, heads: number): Tensor {
  const [batch, own, length, dim] = x.shape as [number, number, number, number];
  if (own === heads) return x;
  // tfjs has no gradient of tile for more than 4 dims.
  const repeated = tile(reshape(x, [batch * own, 1, length * dim]), [1, heads / own, 1]);
  return reshape(repeated, [batch, heads, length, dim]);
}
