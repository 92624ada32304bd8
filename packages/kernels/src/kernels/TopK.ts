import { TopK, type TopKAttrs, type TopKInputs } from '@tensorflow/tfjs-core';
import { operator, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

const narrowCopy = operator('aten::narrow_copy');
const sort = operatorWithResults('aten::sort.stable');

/** A stable sort, since of equal elements tfjs gives the one of the lower index first; libtorch's topk gives any. */
export const topK = kernel<TopKInputs, TopKAttrs>(TopK, ({ inputs: { x }, attrs: { k }, backend }) => {
  const [sorted, order] = sort(backend.native(x), true, -1, true) as [NativeTensor, NativeTensor];
  using allValues = sorted;
  using allIndices = order;
  return [
    backend.wrap(narrowCopy(allValues, -1, 0, k), x.dtype),
    backend.wrap(narrowCopy(allIndices, -1, 0, k), 'int32'),
  ];
});
