import { engine, type DataType, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import type { ShardLayout } from '@acc/contract';
import type { Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { TensorData, type DataShards } from '../tensor-data.js';

/** How a tensor is made of a native one. */
export interface RecordedForm {
  readonly dtype: DataType;
  /** Of a tensor of which this process has one shard, which is the native tensor. */
  readonly cut?: {
    readonly shape: readonly number[];
    readonly layout: ShardLayout;
    readonly hold: NonNullable<DataShards['hold']>;
  };
}

/**
 * The tensor that this process holds: its shard of a tensor, or the tensor itself. Undefined if the
 * shard was freed. Recordings have native calls on shards, and never make a tensor whole.
 */
export function localTensorOf(x: TensorInfo, backend: AccBackend): TensorInfo | undefined {
  const inShards = backend.shardsOf(x);
  if (inShards?.index === undefined) return x;
  return inShards.isFreed ? undefined : inShards.shards![0];
}

/** Whether the values of `x` come when they are needed; see `Defer`. */
export function isDeferred({ dataId }: TensorInfo): boolean {
  return dataId instanceof TensorData && dataId.isDeferred;
}

export function formOf({ dtype, shape, dataId }: Tensor, backend: AccBackend): RecordedForm {
  const inShards = backend.shardsOf({ dtype, shape, dataId });
  if (inShards?.index === undefined) return { dtype };
  return { dtype, cut: { shape, layout: inShards.layout, hold: inShards.hold! } };
}

/** A tensor of that form, which takes ownership of `native`. The caller owns it. */
export function tensorIn({ dtype, cut }: RecordedForm, native: NativeTensor, backend: AccBackend): Tensor {
  if (!cut) return backend.tensorOf(native, dtype);
  const { shape, layout, hold } = cut;
  const info = hold({ shape: shape.slice(), dtype, layout }, backend.wrap(native, dtype));
  return engine().makeTensorFromTensorInfo(info, backend);
}

/** Whether both are whole, both sums, or both rows, perhaps of other sizes. */
export function areOfOneKind(a: RecordedForm, b: RecordedForm | undefined): boolean {
  return a.cut?.layout.kind === b?.cut?.layout.kind;
}

/** Whether both are whole, or have the same shards. */
export function areShardedAlike(a: RecordedForm, b: RecordedForm): boolean {
  const [x, y] = [a.cut?.layout, b.cut?.layout];
  if (x?.kind === 'rows' && y?.kind === 'rows') return x.outer === y.outer && x.length === y.length;
  if (x?.kind === 'sum' && y?.kind === 'sum') return x.scale === y.scale;
  return x === y;
}
