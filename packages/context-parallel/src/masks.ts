import { customGrad, slice, zerosLike, type Tensor } from '@tensorflow/tfjs-core';
import { maskWithoutAllKeys, maskWithoutGradient } from './errors.js';

/** The last dim of a mask: the keys of all ranks, those of this rank's shard, or one number for all keys. */
export type MaskColumns = 'all' | 'own' | 'one';

/**
 * @param k The keys of this rank.
 * @param ranks The number of shards.
 * @throws AccError `ACC_CONTEXT_MASK` if queries have numbers for this rank's keys only.
 */
export function columnsOf(mask: Tensor, k: Tensor, ranks: number): MaskColumns {
  const keys = k.shape[2]!;
  const [rows, columns] = mask.shape.slice(-2) as [number, number];
  if (columns === ranks * keys) return 'all';
  if (columns === keys && rows === 1) return 'own';
  if (columns === 1) return 'one';
  throw maskWithoutAllKeys(mask, ranks * keys);
}

/** Whether a mask has a row for each query. */
export function hasRows(mask: Tensor): boolean {
  return mask.shape.at(-2)! > 1;
}

/** The columns of one shard of the keys. The caller disposes the result. */
export function columnsOfBlock(mask: Tensor, block: number, keys: number): Tensor {
  const begin = mask.shape.map((_, dim) => (dim === mask.rank - 1 ? block * keys : 0));
  return slice(mask, begin, [...mask.shape.slice(0, -1), keys]);
}

/**
 * The same mask. Its gradient is an error, because it would be left out: attention over a context axis
 * has none for masks.
 */
export function withoutGradient(mask: Tensor): Tensor {
  if (mask.dtype === 'bool') return mask;
  const refusing = customGrad((given) => ({
    value: (given as Tensor).clone(),
    gradFunc: () => {
      throw maskWithoutGradient();
    },
  }));
  return refusing(mask);
}

/** The gradient of a mask that attention states, so that {@link withoutGradient} is asked. */
export const noGradientOf = (mask: Tensor): Tensor => zerosLike(mask);
