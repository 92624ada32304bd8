import { clone, tidy, type Tensor, type TensorContainer } from '@tensorflow/tfjs-core';
import { collate } from './collate.js';
import { promised } from './errors.js';
import { mapTensors, tensorsIn, type TensorMark } from './structure.js';

export type Collate = (samples: unknown[]) => unknown;

/**
 * Batches samples. The caller owns the tensors of the batch. If the collate function returns a
 * tensor that is older than `mark`, or part of a sample, the batch contains a clone of it.
 *
 * @param samples They are not changed. The code that fetched them disposes the tensors made for
 * them.
 * @param mark Taken before the samples were fetched.
 * @throws AccError `ACC_DATA_COLLATE`.
 */
export function batchSamples(samples: unknown[], custom: Collate | undefined, mark: TensorMark): unknown {
  return tidy(() => {
    if (!custom) return collate(samples) as TensorContainer;
    const batch = custom(samples);
    if (batch instanceof Promise) throw promised('collate');
    const fetched = new Set(samples.flatMap(tensorsIn));
    const isOurs = (x: Tensor) => mark.isNew(x) && !fetched.has(x);
    return mapTensors(batch, (x) => (isOurs(x) ? x : clone(x))) as TensorContainer;
  });
}
