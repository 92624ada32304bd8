import { cast, reshape, type Tensor } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { Kwargs } from './shapes.js';

/**
 * The keys that may be seen, bool `[batch, 1, 1, keys]`: from the second input, or from the mask
 * that layers before have computed (`maskZero` of an embedding). Both are `[batch, keys]`, where 0
 * hides a key.
 *
 * @throws AccError `ACC_SHAPE_MISMATCH`.
 */
export function keysMask(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor | undefined {
  const given = Array.isArray(inputs) ? inputs[1] : undefined;
  const computed = kwargs?.['mask'] as Tensor | Tensor[] | undefined;
  const mask = given ?? (Array.isArray(computed) ? computed[0] : computed);
  if (!mask) return undefined;
  if (mask.rank !== 2) {
    throw new AccError(
      'ACC_SHAPE_MISMATCH',
      `multiHeadAttention: the mask has shape [${mask.shape.join(', ')}]; expected [batch, keys].`,
      { help: 'Give 1 for keys that are seen and 0 for padding.', details: { shape: mask.shape } },
    );
  }
  const [batch, keys] = mask.shape as [number, number];
  return reshape(cast(mask, 'bool'), [batch, 1, 1, keys]);
}
