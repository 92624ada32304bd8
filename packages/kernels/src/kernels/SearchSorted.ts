import { SearchSorted, type SearchSortedAttrs, type SearchSortedInputs } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

const castTo = operator('aten::_to_copy');
const contiguous = operator('aten::contiguous');
const search = operator('aten::searchsorted.Tensor');

/**
 * Searches row by row; both inputs are `[batch, n]`. libtorch needs them contiguous and of one
 * dtype.
 */
export const searchSorted = kernel<SearchSortedInputs, SearchSortedAttrs>(
  SearchSorted,
  ({ inputs: { sortedSequence, values }, attrs: { side }, backend }) => {
    const [sequence, wanted] = [backend.native(sortedSequence), backend.native(values)];
    const areAlike = sequence.dtype === wanted.dtype;
    using sortedRows = areAlike ? contiguous(sequence) : floatRows(sequence);
    using wantedRows = areAlike ? contiguous(wanted) : floatRows(wanted);
    return backend.wrap(search(sortedRows, wantedRows, true, false, side), 'int32');
  },
);

function floatRows(x: NativeTensor): NativeTensor {
  using floats = castTo(x, 'float32');
  return contiguous(floats);
}
