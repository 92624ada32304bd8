import {
  add,
  cast,
  isFinite,
  linalg,
  log,
  matMul,
  max,
  maximum,
  mul,
  ones,
  reshape,
  softmax,
  tile,
  where,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { AttentionBlockSettings, AttentionSettings } from '@acc/contract';
import { dropout as dropoutOf } from './dropout.js';

/** Stands for -Infinity in logarithms of sums: the difference of two infinities is NaN. */
export const UNSEEN = -1e30;

/** Attention in tfjs ops. It allocates several tensors of shape `[batch, heads, queries, keys]`. */
export function attentionInPlainOps(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  { mask, isCausal, scale, dropout }: AttentionSettings,
): Tensor {
  const heads = q.shape[1]!;
  const products = productsOf(q, k, scale);
  const added = addedToScores(mask, isCausal, products);
  // With a causal mask alone, every query sees at least the first key.
  const sees = mask && isFinite(max(added!, -1, true));
  // A softmax of infinities alone is NaN. Finite numbers stay, however low.
  const finite = sees ? where(sees, added!, 0) : added;
  let weights = softmax(finite ? add(products, finite) : products);
  if (dropout > 0) weights = dropoutOf(weights, dropout);
  const output = matMul(weights, repeatHeads(v, heads));
  return sees ? mul(output, cast(sees, 'float32')) : output;
}

/** The scores with what the mask has added to them: {@link UNSEEN} and lower numbers are one. */
export function scoresOf(q: Tensor, k: Tensor, { mask, isCausal, scale }: AttentionBlockSettings): Tensor {
  const products = productsOf(q, k, scale);
  const added = addedToScores(mask, isCausal, products);
  return added ? add(products, maximum(added, UNSEEN)) : products;
}

const productsOf = (q: Tensor, k: Tensor, scale: number): Tensor =>
  mul(matMul(q, repeatHeads(k, q.shape[1]!), false, true), scale);

/**
 * The mask to add to the scores: -Infinity where a query must not see a key. Returns undefined if
 * there is no mask.
 */
function addedToScores(mask: Tensor | undefined, isCausal: boolean, scores: Tensor): Tensor | undefined {
  const [queries, keys] = scores.shape.slice(-2) as [number, number];
  const future = isCausal ? additive(cast(linalg.bandPart(ones([queries, keys]), -1, 0), 'bool')) : undefined;
  const given = mask && (mask.dtype === 'bool' ? additive(mask) : mask);
  return given && future ? add(given, future) : (given ?? future);
}

/** 0 for true, -Infinity for false. */
const additive = (mask: Tensor): Tensor => log(cast(mask, 'float32'));

/** Repeats each head of `[batch, heads, length, dim]` in turn, up to `heads` heads. */
export function repeatHeads(x: Tensor, heads: number): Tensor {
  const [batch, own, length, dim] = x.shape as [number, number, number, number];
  if (own === heads) return x;
  // tfjs has no gradient of tile for more than 4 dims.
  const repeated = tile(reshape(x, [batch * own, 1, length * dim]), [1, heads / own, 1]);
  return reshape(repeated, [batch, heads, length, dim]);
}
