import { backend_util, GatherNd, util, type GatherNdInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { rowsOf, withIndicesChecked } from '../families/indexing.js';
import { kernelWithStrings } from '../families/strings.js';

const reshape = operator('aten::reshape');
const select = operator('aten::index_select');

export const gatherNd = kernelWithStrings<GatherNdInputs>(
  GatherNd,
  'params',
  ({ inputs: { params, indices }, backend }) => {
    const [shape, count, sliceSize, strides] = backend_util.prepareAndValidate(params, indices);
    const rowCount = util.sizeFromShape(params.shape) / sliceSize;
    using slices = reshape(backend.native(params), [rowCount, sliceSize]);
    using rows = rowsOf(backend.native(indices), count, strides);
    const lookup = { kernelName: GatherNd, size: rowCount };
    using selected = withIndicesChecked(backend, lookup, rows, (checked) => select(slices, 0, checked));
    return backend.wrap(reshape(selected, shape), params.dtype);
  },
);
