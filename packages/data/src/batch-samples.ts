import { clone, tidy, type Tensor, type TensorContainer } from '@tensorflow/tfjs-core';
import { collate } from './collate.js';
import { cannotCollate } from './errors.js';
import { mapTensors, tensorsIn, type TensorMark } from './structure.js';

export type Collate = (samples: unknown[]) => unknown;

/**
 * Batches samples. The batch's tensors are the caller's, whatever the collate function returned: a tensor that
 * belongs to somebody else, or is part of a sample, is given out as a clone.
 *
 * @param samples Stay as they are; whoever fetched them disposes the new ones.
 * @param mark From before the samples were fetched.
 * @throws AccError `ACC_DATA_COLLATE`.
 */
export function batchSamples(samples: unknown[], custom: Collate | undefined, mark: TensorMark): unknown {
  return tidy(() => {
    if (!custom) return collate(samples) as TensorContainer;
    const batch = custom(samples);
    if (batch instanceof Promise) throw cannotCollate('collate', 'the function returned a promise');
    const fetched = new Set(samples.flatMap(tensorsIn));
    const isOurs = (x: Tensor) => mark.isNew(x) && !fetched.has(x);
    return mapTensors(batch, (x) => (isOurs(x) ? x : clone(x))) as TensorContainer;
  });
}
