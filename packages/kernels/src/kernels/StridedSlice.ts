import {
  slice_util,
  StridedSlice,
  util,
  type StridedSliceAttrs,
  type StridedSliceInputs,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { sameData } from '../families/same-data.js';
import { sliceBox, type Cut } from '../families/slices.js';
import { kernelWithStrings } from '../families/strings.js';
import { checkedOnCpu } from '../odd-arguments/as-in-tfjs.js';
import { areCounts, hasFraction } from '../odd-arguments/numbers.js';

const flip = operator('aten::flip');

/** For numbers that are no integers, and lists of other lengths. */
const onCpu = checkedOnCpu(StridedSlice);

export const stridedSlice = kernelWithStrings<StridedSliceInputs, StridedSliceAttrs>(
  StridedSlice,
  'x',
  ({ inputs: { x }, attrs, backend }) => {
    const { finalShape, isIdentity, sliceDim0, isSimpleSlice, begin, end, strides } = slice_util.sliceInfo(
      x.shape,
      attrs.begin,
      attrs.end,
      attrs.strides,
      attrs.beginMask,
      attrs.endMask,
      attrs.ellipsisMask,
      attrs.newAxisMask,
      attrs.shrinkAxisMask,
    );
    if (isIdentity) return sameData(backend, { dataId: x.dataId, shape: finalShape, dtype: x.dtype });
    // An interval in the direction opposite to its stride is empty.
    const shape = slice_util.computeOutShape(begin, end, strides).map((size) => Math.max(size, 0));
    // tfjs's kernel cannot select a scalar by a stride.
    const isStridden = finalShape.length === 0 && !sliceDim0 && !isSimpleSlice;
    if (isStridden || !areWhole(attrs) || !isShape(shape, finalShape)) {
      return onCpu({ inputs: { x }, attrs: { ...attrs }, backend }) as TensorInfo;
    }
    const result = sliced(backend, x, begin, strides, shape);
    return { ...result, shape: finalShape };
  },
);

/** Whether begins, ends and strides are integers, and as many of each. */
function areWhole({ begin, end, strides }: StridedSliceAttrs): boolean {
  const count = begin.length;
  return count === end.length && (strides ?? begin).length === count && !hasFraction([begin, end]);
}

/** Whether two shapes exist and have the same number of elements. */
const isShape = (shape: number[], finalShape: number[]): boolean =>
  areCounts(shape) && areCounts(finalShape) && util.sizeFromShape(shape) === util.sizeFromShape(finalShape);

/**
 * The elements `begin + k · strides` for k in `shape`. libtorch supports only positive steps, so a
 * negative stride slices forwards and then flips.
 */
function sliced(
  backend: AccBackend,
  x: TensorInfo,
  begin: number[],
  strides: number[],
  shape: number[],
): TensorInfo {
  const cuts: Cut[] = [];
  for (const [dim, size] of shape.entries()) {
    const step = strides[dim]!;
    const first = begin[dim]!;
    const last = first + (size - 1) * step;
    if (size === 0) cuts.push({ dim, start: 0, end: 0, step: 1 });
    else if (size < x.shape[dim]!) {
      cuts.push({ dim, start: Math.min(first, last), end: Math.max(first, last) + 1, step: Math.abs(step) });
    }
  }
  const box = sliceBox(backend, x, cuts, shape);
  const backwards = shape.flatMap((size, dim) => (size > 1 && strides[dim]! < 0 ? [dim] : []));
  if (backwards.length === 0) return box;
  const flipped = backend.wrap(flip(backend.native(box), backwards), x.dtype);
  backend.disposeInfo(box);
  return flipped;
}
