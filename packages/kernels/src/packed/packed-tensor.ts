import { engine, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import { engineInternals, patch, type Undo } from '@acc/tfjs-internals';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { TensorData } from '../tensor-data.js';
import type { PackedValues } from './packed-values.js';

const reshape = operator('aten::reshape');

/** Packed data whose float32 values exist until the operator that uses them ends, or the current task. */
const unpacked = new Set<TensorData>();

/** Frees float32 values when an operator ends. There is none while no tensor is packed. */
class OperatorEnds {
  #live = 0;
  #depth = 0;
  #undo: Undo | undefined;

  /** Notes that `data` has float32 values. Outside an operator they live until the current task ends. */
  note(data: TensorData): void {
    if (this.#depth === 0 && unpacked.size === 0) queueMicrotask(freeUnpacked);
    unpacked.add(data);
  }

  begin(): void {
    if (this.#live++ > 0) return;
    const tfjs = engineInternals();
    this.#undo = patch(tfjs, 'runKernelFunc', 'packed values', (own) => (params) => {
      this.#depth++;
      try {
        return own.call(tfjs, params);
      } finally {
        if (--this.#depth === 0 && unpacked.size > 0) freeUnpacked();
      }
    });
  }

  end(): void {
    if (--this.#live > 0) return;
    this.#undo?.();
    this.#undo = undefined;
  }
}

function freeUnpacked(): void {
  for (const data of unpacked) if (!data.isDisposed) data.release();
  unpacked.clear();
}

const operatorEnds = new OperatorEnds();
const collected = new FinalizationRegistry<readonly NativeTensor[]>((tensors) => {
  for (const tensor of tensors) tensor.dispose();
  operatorEnds.end();
});

/** A tensor with `values`, which it takes over. The caller owns it. */
export function packedTensorOn(backend: AccBackend, values: PackedValues): Tensor {
  const data: TensorData = new TensorData('float32', undefined, undefined, undefined, () => {
    operatorEnds.note(data);
    return values.unpack();
  });
  data.packed = values;
  data.reader = () => {
    using read = values.unpack();
    return read.read() as Float32Array;
  };
  operatorEnds.begin();
  data.onDisposed = () => {
    collected.unregister(data);
    operatorEnds.end();
  };
  collected.register(data, values.tensors, data);
  const info = { dataId: backend.hold(data), shape: [...values.shape], dtype: 'float32' as const };
  return engine().makeTensorFromTensorInfo(info, backend);
}

/**
 * The float32 values of a packed tensor for one use outside an operator; undefined for any other tensor.
 * The caller disposes them.
 */
export function unpackedOf(info: TensorInfo): NativeTensor | undefined {
  using values = packedOf(info)?.unpack();
  return values && reshape(values, info.shape);
}

/** The packed values of a tensor; undefined for any other. Borrowed. */
export function packedOf({ dataId }: Pick<TensorInfo, 'dataId'>): PackedValues | undefined {
  return dataId instanceof TensorData && !dataId.isDisposed ? dataId.packed : undefined;
}

/** Whether the values of a tensor are in memory as they are: not packed, deferred or in shards. */
export function hasOwnValues({ dataId }: Pick<TensorInfo, 'dataId'>): boolean {
  return !(dataId instanceof TensorData) || !dataId.isElsewhere;
}
