import { GatherV2, type DataId, type GatherV2Attrs, type TensorInfo } from '@tensorflow/tfjs-core';
import { withIndicesChecked } from '@acc/kernels';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { KernelCall } from '../run-on-local.js';
import type { Special, SpecialContext } from './context.js';
import { accOf, isShardedAlong } from './native.js';

const add = operator('aten::add.Tensor');
const and = operator('aten::logical_and');
const atLeast = operator('aten::ge.Scalar');
const below = operator('aten::lt.Scalar');
const multiply = operator('aten::mul.Tensor');
const not = operator('aten::logical_not');
const reshape = operator('aten::reshape');
const subtract = operator('aten::sub.Scalar');

/** The number of rows of the table that each list of indices last chose from. */
const rowsChosen = new WeakMap<DataId, number>();

/**
 * Rows of a table that is cut along its rows: each rank takes those that it has, and zeros for the
 * others. The result is a partial sum (the vocabulary-parallel embedding of Megatron-LM).
 */
export const embedding: Special = {
  whenSharded({ shards, kernels }, { inputs, attrs }) {
    const { x, indices } = inputs as { x: TensorInfo; indices: TensorInfo };
    const { axis, batchDims } = attrs as unknown as GatherV2Attrs;
    if (axis !== 0 || batchDims || shards.isCut(indices) || !isShardedAlong(shards, x, 0)) return undefined;
    const backend = accOf(kernels.backend);
    const total = x.shape[0]!;
    rowsChosen.set(indices.dataId, total);
    const local = shards.localShardOf(x);
    const native = backend.native(indices);
    using isOwn = isWithin(native, shards.line.index * local.shape[0]!, local.shape[0]!);
    using places = ownPlaces(native, isOwn, { begin: shards.line.index * local.shape[0]!, total });
    const chosen = backend.wrap(places.alias(), 'int32');
    const lookup = { kernelName: GatherV2, size: total };
    // Indices that are out of range of the table are out of range of the rows here, too.
    const take = () => kernels.run(GatherV2, { x: local, indices: chosen }, attrs);
    const taken = withIndicesChecked(backend, lookup, native, take);
    using mask = reshape(isOwn, [...indices.shape, ...local.shape.slice(1).map(() => 1)]);
    const result = backend.wrap(multiply(backend.native(taken), mask), 'float32');
    kernels.free(chosen);
    kernels.free(taken);
    return shards.hold({ ...result, shape: taken.shape }, { kind: 'sum', scale: 1 }, false);
  },
};

/** The gradient of such a table: each rank adds up the rows that it has. */
export const embeddingGradient: Special = { whenSharded: ownSegments, ofWhole: ownSegments };

function ownSegments(
  { shards, kernels }: SpecialContext,
  { inputs, attrs }: KernelCall,
): TensorInfo | undefined {
  const { x, segmentIds } = inputs as { x: TensorInfo; segmentIds: TensorInfo };
  const { numSegments } = attrs as unknown as { numSegments: number };
  if (rowsChosen.get(segmentIds.dataId) !== numSegments) return undefined;
  shards.makePlain(x);
  if (shards.isCut(x)) return undefined;
  const backend = accOf(kernels.backend);
  const count = numSegments / shards.line.count;
  using shifted = subtract(backend.native(segmentIds), shards.line.index * count, 1);
  const ids = backend.wrap(shifted.alias(), 'int32');
  // Ids of other ranks' rows are out of range, and the kernel leaves them out.
  const sums = kernels.run('UnsortedSegmentSum', { x, segmentIds: ids }, { numSegments: count });
  kernels.free(ids);
  return shards.hold(sums, { kind: 'rows', at: { dim: 0, times: 1 } }, false);
}

function isWithin(x: NativeTensor, begin: number, length: number): NativeTensor {
  using fromBegin = atLeast(x, begin);
  using toEnd = below(x, begin + length);
  return and(fromBegin, toEnd);
}

/**
 * The places of indices among the own rows: 0 for rows of other ranks. Indices that the table does
 * not have are unchanged, so that the kernel refuses them.
 */
function ownPlaces(
  indices: NativeTensor,
  isOwn: NativeTensor,
  { begin, total }: { readonly begin: number; readonly total: number },
): NativeTensor {
  using shifted = subtract(indices, begin, 1);
  using places = multiply(shifted, isOwn);
  using isKnown = isWithin(indices, 0, total);
  using isUnknown = not(isKnown);
  using unknown = multiply(indices, isUnknown);
  return add(places, unknown, 1);
}
