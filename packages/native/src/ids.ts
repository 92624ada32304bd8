import type { NativeTensor } from '@acc/contract';
import type { Tensor } from './tensor.js';

/** The handles of tensors, as the addon takes them. */
export function idsOf(tensors: readonly NativeTensor[]): Float64Array {
  return Float64Array.from(tensors, (tensor) => (tensor as Tensor).id);
}
