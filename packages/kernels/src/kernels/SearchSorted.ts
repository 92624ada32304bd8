import { SearchSorted, type SearchSortedAttrs, type SearchSortedInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const contiguous = operator('aten::contiguous');
const promoted = operator('aten::_to_copy');
const search = operator('aten::searchsorted.Tensor');

/** Row by row; both inputs are `[batch, n]`. libtorch wants rows that are contiguous, and of one dtype. */
export const searchSorted = kernel<SearchSortedInputs, SearchSortedAttrs>(
  SearchSorted,
  ({ inputs: { sortedSequence, values }, attrs: { side }, backend }) => {
    const prepare = sortedSequence.dtype === values.dtype ? contiguous : promoted;
    const dtype = sortedSequence.dtype === values.dtype ? undefined : 'float32';
    using sequence = prepare(backend.native(sortedSequence), dtype);
    using wanted = prepare(backend.native(values), dtype);
    return backend.wrap(search(sequence, wanted, true, false, side), 'int32');
  },
);
