import {
  backend_util,
  GatherV2,
  util,
  type GatherV2Attrs,
  type GatherV2Inputs,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { withIndicesChecked } from '../families/indexing.js';
import { kernel } from '../kernel.js';
import { packedOf } from '../packed/packed-tensor.js';

const castTo = operator('aten::_to_copy');
const expand = operator('aten::expand');
const gather = operator('aten::gather');
const reshape = operator('aten::reshape');
const select = operator('aten::index_select');

type ShapeInfo = ReturnType<typeof backend_util.segment_util.collectGatherOpShapeInfo>;

/**
 * Gathers slices of `x` along `axis` by index. With `batchDims`, each batch has its own indices.
 */
export const gatherV2 = kernel<GatherV2Inputs, GatherV2Attrs>(
  GatherV2,
  ({ inputs: { x, indices }, attrs: { axis, batchDims }, backend }) => {
    const dim = util.parseAxisParam(axis, x.shape)[0]!;
    const shapes = backend_util.segment_util.collectGatherOpShapeInfo(x, indices, dim, batchDims ?? 0);
    const lookup = { kernelName: GatherV2, size: shapes.dimSize };
    return withIndicesChecked(backend, lookup, backend.native(indices), (index) => {
      if (batchDims) return gatherInBatches(backend, x, index, shapes);
      const rows = dim === 0 && packedRows(x, index);
      if (rows) {
        using found = rows;
        return backend.wrap(reshape(found, shapes.outputShape), x.dtype);
      }
      if (indices.shape.length === 1) return backend.wrap(select(backend.native(x), dim, index), x.dtype);
      using flatIndex = reshape(index, [-1]);
      using selected = select(backend.native(x), dim, flatIndex);
      return backend.wrap(reshape(selected, shapes.outputShape), x.dtype);
    });
  },
);

/** Slices of packed values, without those of other indices. */
function packedRows(x: TensorInfo, index: NativeTensor): NativeTensor | undefined {
  const packed = packedOf(x);
  if (!packed?.rows || !util.arraysEqual(x.shape, packed.shape as number[])) return undefined;
  using flat = reshape(index, [-1]);
  return packed.rows(flat);
}

function gatherInBatches(
  backend: AccBackend,
  x: TensorInfo,
  index: NativeTensor,
  { batchSize, outerSize, dimSize, sliceSize, outputShape }: ShapeInfo,
): TensorInfo {
  const count = util.sizeFromShape(index.shape as number[]) / batchSize;
  using source = reshape(backend.native(x), [batchSize, outerSize, dimSize, sliceSize]);
  using longs = castTo(index, 'int64');
  using perBatch = reshape(longs, [batchSize, 1, count, 1]);
  using perElement = expand(perBatch, [batchSize, outerSize, count, sliceSize]);
  using gathered = gather(source, 2, perElement);
  return backend.wrap(reshape(gathered, outputShape), x.dtype);
}
