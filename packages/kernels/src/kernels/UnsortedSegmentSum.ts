import {
  UnsortedSegmentSum,
  util,
  type UnsortedSegmentSumAttrs,
  type UnsortedSegmentSumInputs,
} from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { operator } from '@acc/native';
import { inDtypeOf, isShort } from '../families/conversion.js';
import { kernel } from '../kernel.js';

const castTo = operator('aten::_to_copy');
const clamp = operator('aten::clamp');
const embeddingBackward = operator('aten::embedding_dense_backward');
const reshape = operator('aten::reshape');
const slice = operator('aten::slice.Tensor');

/** The segment id that `embedding_dense_backward` ignores. */
const NO_SEGMENT = -1;

/**
 * This sum equals the gradient of an embedding, for which libtorch has its fastest kernel. `x` is
 * `[n, …]`, the ids are `[n]`. As in tfjs, elements with an id outside the segments are ignored:
 * ids below 0 become {@link NO_SEGMENT}, and ids above the last go to an additional segment that is
 * cut off. As in tfjs, sums are float32 for every dtype of `x`; they are rounded once if `x` is
 * 16-bit.
 */
export const unsortedSegmentSum = kernel<UnsortedSegmentSumInputs, UnsortedSegmentSumAttrs>(
  UnsortedSegmentSum,
  ({ inputs: { x, segmentIds }, attrs: { numSegments }, backend }) => {
    if (segmentIds.shape.length !== 1) {
      throw new AccError(
        'ACC_SHAPE_MISMATCH',
        `UnsortedSegmentSum: segment ids have shape [${segmentIds.shape.join()}]; expected one dim.`,
        { help: 'Pass the ids as a vector, one for each row.' },
      );
    }
    const [n, ...rest] = x.shape;
    using ids = clamp(backend.native(segmentIds), NO_SEGMENT, numSegments);
    const given = backend.native(x);
    using floats = given.dtype === 'float32' ? undefined : castTo(given, 'float32');
    using rows = reshape(floats ?? given, [n!, util.sizeFromShape(rest)]);
    using sums = embeddingBackward(rows, ids, numSegments + 1, NO_SEGMENT, false);
    using segments = slice(sums, 0, 0, numSegments);
    using result = reshape(segments, [numSegments, ...rest]);
    return backend.wrap(isShort(given) ? inDtypeOf(given, result) : result.alias(), 'float32');
  },
);
