import { util, type Tensor } from '@tensorflow/tfjs-core';
import { requireAcc, type ChannelAxis, type Granularity } from '@acc/kernels';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { reshape } from '../formats/operators.js';
import { recordLength } from '../formats/records.js';

const transposeDims = operator('aten::transpose.int');
const contiguous = operator('aten::contiguous');

type Shape = readonly [number, number, number];

/** A shape for the values of a weight, in which those that share a scale are along one dim. */
export interface GroupView {
  readonly shape: Shape;
  readonly dim: 1 | 2;
  /** The shape of the scales: `shape` with length 1 along `dim`. */
  readonly scales: Shape;
  /** The number of values that share a scale. */
  readonly count: number;
}

export function groupViewOf(
  shape: readonly number[],
  axis: ChannelAxis,
  granularity: Granularity,
): GroupView {
  const size = util.sizeFromShape([...shape]);
  if (granularity === 'tensor') return along(1, [1, size, 1]);
  const channels = axis === 'first' ? shape[0]! : shape.at(-1)!;
  const group = recordLength(granularity, size / channels);
  const groups = size / channels / group;
  return axis === 'first' ? along(2, [channels, groups, group]) : along(1, [groups, group, channels]);
}

function along(dim: 1 | 2, shape: Shape): GroupView {
  const scales = shape.map((size, i) => (i === dim ? 1 : size)) as unknown as Shape;
  return { shape, dim, scales, count: shape[dim] };
}

/** Scales in the shape of a view, as a packed matrix has them: `[channels or 1, groups, 1]`. */
export function scalesOfMatrix(scales: Tensor, { dim }: GroupView): NativeTensor {
  const native = requireAcc().native(scales);
  if (dim === 2) return native.alias();
  using turned = transposeDims(native, 0, 2);
  using dense = contiguous(turned);
  const [channels, , groups] = dense.shape as [number, number, number];
  // Dims of length 1 keep the strides of the transpose, with which no bytes can be read.
  using flat = reshape(dense, [-1]);
  return reshape(flat, [channels, groups, 1]);
}
