import { TopK, type TopKAttrs, type TopKInputs } from '@tensorflow/tfjs-core';
import { operator, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

const narrowCopy = operator('aten::narrow_copy');
const sort = operatorWithResults('aten::sort.stable');

/** Uses a stable sort: tfjs orders equal elements by index, and libtorch's topk does not. */
export const topK = kernel<TopKInputs, TopKAttrs>(TopK, ({ inputs: { x }, attrs: { k }, backend }) => {
  const [sorted, order] = sort(backend.native(x), true, -1, true) as [NativeTensor, NativeTensor];
  using allValues = sorted;
  using allIndices = order;
  return [
    backend.wrap(narrowCopy(allValues, -1, 0, k), x.dtype),
    backend.wrap(narrowCopy(allIndices, -1, 0, k), 'int32'),
  ];
});
