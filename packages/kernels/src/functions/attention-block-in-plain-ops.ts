import {
  cast,
  exp,
  expandDims,
  logSumExp,
  matMul,
  max,
  mul,
  onesLike,
  reshape,
  squeeze,
  step,
  sub,
  sum,
  where,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { AttentionBlock, AttentionBlockSettings } from '@acc/contract';
import { repeatHeads, scoresOf, UNSEEN } from './attention-in-plain-ops.js';

export interface BlockSettings extends AttentionBlockSettings {
  /**
   * Factors of the weights, for dropout: `[batch, heads, queries, keys]`. With them, plain ops
   * compute, which allocate tensors of this shape.
   */
  readonly keep?: Tensor | undefined;
}

type Inputs = readonly [q: Tensor, k: Tensor, v: Tensor];

/** Attention to a block of keys, in tfjs ops. */
export function blockInPlainOps([q, k, v]: Inputs, settings: BlockSettings): AttentionBlock {
  const { keep } = settings;
  const scores = scoresOf(q, k, settings);
  const most = max(scores, -1, true);
  const sees = step(sub(most, UNSEEN / 2));
  const logSums = logSumExp(scores, -1, true);
  const weights = mul(exp(sub(scores, logSums)), sees);
  const output = matMul(keep ? mul(weights, keep) : weights, repeatHeads(v, q.shape[1]!));
  const unseen = mul(onesLike(logSums), UNSEEN);
  return { output, logSums: squeeze(where(cast(sees, 'bool'), logSums, unseen), [3]), kept: [] };
}

/** The gradients of {@link blockInPlainOps}, where other blocks are part of the output (Dao et al. 2022). */
export function blockGradientInPlainOps(
  dy: Tensor,
  [q, k, v]: Inputs,
  { output, logSums }: AttentionBlock,
  settings: BlockSettings,
): [dq: Tensor, dk: Tensor, dv: Tensor] {
  const { keep, scale } = settings;
  const heads = q.shape[1]!;
  const scores = scoresOf(q, k, settings);
  const sees = step(sub(scores, UNSEEN / 2));
  const weights = mul(exp(mul(sub(scores, expandDims(logSums, -1)), sees)), sees);
  const kept = (x: Tensor) => (keep ? mul(x, keep) : x);
  const ofWeights = kept(matMul(dy, repeatHeads(v, heads), false, true));
  const ofScores = mul(weights, sub(ofWeights, sum(mul(dy, output), -1, true)));
  const scaled = mul(ofScores, scale);
  return [
    matMul(scaled, repeatHeads(k, heads)),
    sumOfHeads(matMul(scaled, q, true, false), k.shape[1]!),
    sumOfHeads(matMul(kept(weights), dy, true, false), v.shape[1]!),
  ];
}

/** The gradient of `repeatHeads`. */
function sumOfHeads(grad: Tensor, heads: number): Tensor {
  const [batch, repeated, length, dim] = grad.shape as [number, number, number, number];
  if (repeated === heads) return grad;
  return sum(reshape(grad, [batch, heads, repeated / heads, length, dim]), 2);
}
