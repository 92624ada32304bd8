import { dispose, mul, reshape, stack, tidy, unstack, zerosLike, type Scalar } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/**
 * The weighted sum over ranks of each scalar, in one collective. Takes the scalars over and gives new ones to the caller.
 *
 * @param weight This rank's factor; 0 leaves its values out, whatever they are.
 */
export function reduceScalars(scalars: readonly Scalar[], weight: number, collective: Collective): Scalar[] {
  const reduced = tidy(() => {
    const values = stack(scalars.map((scalar) => reshape(scalar, [])));
    const weighted = weight === 0 ? zerosLike(values) : mul(values, weight);
    return unstack(collective.allReduce(weighted, 'sum')) as Scalar[];
  });
  dispose([...scalars]);
  return reduced;
}
