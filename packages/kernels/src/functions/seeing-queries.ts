import {
  add,
  cast,
  cumsum,
  linalg,
  max,
  mul,
  ones,
  pad,
  reshape,
  step,
  tidy,
  where,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { AttentionBlockSettings } from '@acc/contract';
import { UNSEEN } from './attention-in-plain-ops.js';

/** A number that makes every finite float32 positive or zero. */
const LARGEST = 3.4e38;

/**
 * The logarithms of sums, `[batch, heads, queries]`, with {@link UNSEEN} for queries that see no key.
 * libtorch's kernel for the CPU gives 0 for these, which is also the logarithm of a sum.
 */
export function withUnseenQueries(logSums: Tensor, settings: AttentionBlockSettings): Tensor {
  const { mask } = settings;
  if (!mask) return logSums;
  const marked = tidy(() => {
    const sees = seeingQueries(mask, settings);
    const rows = sees.shape.at(-1)!;
    // The kernel may have added columns.
    const missing = rows === 1 ? 0 : logSums.shape[2]! - rows;
    const ends = sees.shape.map((_, dim): [number, number] => [0, dim === sees.rank - 1 ? missing : 0]);
    return where(cast(missing > 0 ? pad(sees, ends) : sees, 'bool'), logSums, UNSEEN);
  });
  logSums.dispose();
  return marked;
}

/** Positive for queries that see a key: the mask without its last dim. */
function seeingQueries(mask: Tensor, { isCausal }: AttentionBlockSettings): Tensor {
  const seen = mask.dtype === 'bool' ? cast(mask, 'float32') : step(add(mask, LARGEST));
  const [rows, columns] = mask.shape.slice(-2) as [number, number];
  // A query sees its own key, so one number for all keys tells whether it sees any.
  if (!isCausal || columns === 1) return max(seen, -1);
  if (rows > 1) return max(mul(seen, linalg.bandPart(ones([rows, columns]), -1, 0)), -1);
  return cumsum(reshape(seen, [...mask.shape.slice(0, -2), columns]), -1);
}
