import {
  add,
  dispose,
  exp,
  expandDims,
  log,
  maximum,
  mul,
  slice,
  sub,
  tidy,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { AttentionBlock } from '@acc/contract';

/**
 * Attention to the keys of two blocks: each output is weighted by its share of the sum of exponentials
 * (Milakov and Gimelshein 2018; Dao et al. 2022). Disposes both. The caller disposes the result.
 */
export function merged(a: AttentionBlock, b: AttentionBlock): AttentionBlock {
  const [output, logSums] = tidy(() => {
    const most = maximum(a.logSums, b.logSums);
    const [ofA, ofB] = [a, b].map(({ logSums: local }) => exp(sub(local, most)));
    const total = add(most, log(add(ofA!, ofB!)));
    const sum = add(weighted(a, total), weighted(b, total));
    return [sum, total] as [Tensor, Tensor];
  });
  dispose([a.output, a.logSums, b.output, b.logSums, ...b.kept]);
  return { output, logSums, kept: a.kept };
}

function weighted({ output, logSums }: AttentionBlock, total: Tensor): Tensor {
  const queries = output.shape[2]!;
  const weights = slice(exp(sub(logSums, total)), [0, 0, 0], [-1, -1, queries]);
  return mul(output, expandDims(weights, -1));
}
