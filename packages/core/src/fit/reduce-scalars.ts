import {
  concat,
  dispose,
  div,
  mul,
  reshape,
  scalar,
  slice,
  stack,
  tidy,
  unstack,
  zerosLike,
  type Scalar,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { LossWeight } from '@acc/pipeline';

/**
 * Computes the weighted sum over ranks of each scalar, in one collective. Disposes the scalars. The
 * caller owns the results.
 *
 * @param weight The factor of this rank. With 0 its values are ignored, even if they are not
 * finite.
 * @param ofLoss The factor of the first scalar, a loss, if it differs.
 */
export function reduceScalars(
  scalars: readonly Scalar[],
  weight: number,
  collective: Collective,
  ofLoss?: LossWeight,
): Scalar[] {
  const reduced = tidy(() => {
    const values = stack(scalars.map((scalar) => reshape(scalar, [])));
    if (!ofLoss) return unstack(collective.allReduce(weighted(values, weight), 'sum')) as Scalar[];
    const items = ofLoss === 'sum' ? 1 : ofLoss.items;
    const [loss, others] = [slice(values, 0, 1), slice(values, 1)];
    const all = concat([weighted(loss, items), weighted(others, weight), reshape(scalar(items), [1])]);
    const sums = unstack(collective.allReduce(all, 'sum'));
    const total = sums.pop()!;
    return [ofLoss === 'sum' ? sums[0]! : div(sums[0]!, total), ...sums.slice(1)] as Scalar[];
  });
  dispose([...scalars]);
  return reduced;
}

function weighted(values: Tensor, weight: number): Tensor {
  return weight === 0 ? zerosLike(values) : mul(values, weight);
}
