import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { LocalShard, LocalShards, LocalShardsOptions, ShardedInfo, ShardLayout } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { lazyOf } from '../pending/lazy.js';
import { TensorData, type DataShards } from '../tensor-data.js';

const clone = operator('aten::clone');
const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');

/** libtorch's constant for the row-major memory format. */
const CONTIGUOUS = 0;

/** Tensors of the backend `acc` of which this rank has one shard. A read joins the shards of all ranks. */
export function localShards(backend: AccBackend, options: LocalShardsOptions): LocalShards {
  const { count, index } = options;
  const of = (x: TensorInfo): LocalShard | undefined => {
    const inShards = backend.shardsOf(x);
    if (inShards?.index === undefined) return undefined;
    return { layout: inShards.layout, shard: inShards.shards![0]! };
  };
  const held = (layout: ShardLayout, shard: TensorInfo): DataShards => ({
    layout,
    count,
    index,
    shards: [shard],
    hold,
  });
  const joinerOf =
    (shape: readonly number[], inShards: DataShards): (() => NativeTensor) =>
    () => {
      const full = options.join({ layout: inShards.layout, shard: inShards.shards![0]! }, shape);
      const native = reshape(backend.native(full), shape);
      full.dispose();
      return native;
    };
  const wrap = ({ shape, dtype }: ShardedInfo, inShards: DataShards): TensorInfo => {
    const join = joinerOf(shape, inShards);
    const info = {
      dataId: backend.hold(new TensorData(dtype, undefined, undefined, undefined, join)),
      shape,
      dtype,
    };
    backend.setShards(info, inShards);
    return info;
  };
  function hold(info: ShardedInfo, shard: TensorInfo): TensorInfo {
    return wrap(info, held(info.layout, shard));
  }
  return {
    hold,
    follow: (info, { shard, isFreed }) =>
      wrap(info, {
        ...held(info.layout, shard()),
        isBorrowed: true,
        get isFreed() {
          return isFreed();
        },
        get shards() {
          return [shard()];
        },
      }),
    of,
    layoutOf(x) {
      const inShards = backend.shardsOf(x);
      return inShards?.index === undefined ? undefined : inShards.layout;
    },
    canCut: (x) => !backend.hasAttached(x) && !(x.dataId as Partial<TensorData>).isStandIn,
    cut(x, { outer, shape }) {
      const lazy = lazyOf(x);
      if (lazy && util.sizeFromShape(x.shape) / outer === lazy.columns)
        return { ...lazy.making.own(), shape };
      using repetitions = reshape(backend.native(x), [outer, count, util.sizeFromShape(shape) / outer]);
      using own = select(repetitions, 1, index);
      // A copy, not a view: a view would keep the whole tensor in memory.
      using copy = clone(own, CONTIGUOUS);
      return backend.wrap(reshape(copy, shape), x.dtype);
    },
    fill(x, full) {
      using shaped = reshape(backend.native(full), x.shape);
      // A permuted view would be copied again for each other shape.
      const native = contiguous(shaped);
      backend.disposeInfo(full);
      backend.replaceData(x, native);
    },
    replace(x, layout, shard) {
      const inShards = held(layout, shard);
      backend.replaceData(x, undefined, inShards, joinerOf(x.shape, inShards));
    },
    holders: (x) => backend.refCount(x.dataId),
    release: (x) => (x.dataId as TensorData).release(),
  };
}
