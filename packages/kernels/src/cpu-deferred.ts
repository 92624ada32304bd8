import {
  engine,
  tensor,
  util,
  type BackendValues,
  type DataId,
  type KernelBackend,
} from '@tensorflow/tfjs-core';
import type { Defer } from '@acc/contract';

/** tfjs's backend `cpu`: kernels take values from this table. */
interface CpuBackend extends KernelBackend {
  readonly data: { has(id: DataId): boolean; get(id: DataId): { values: BackendValues } };
}

/**
 * Deferred tensors of tfjs's backend `cpu`: the entry of a tensor loads its values when a kernel
 * asks.
 */
export function deferOnCpu(backend: KernelBackend): Defer {
  const { data } = backend as CpuBackend;
  return ({ shape, dtype, held }, load) => {
    const own = held && { values: held.dataSync(), shape: held.shape };
    held?.dispose();
    let values: BackendValues | undefined;
    const dataId = backend.write(new Float32Array(0), [...shape], dtype);
    Object.defineProperty(data.get(dataId), 'values', {
      enumerable: true,
      get() {
        if (!values) load();
        return values;
      },
    });
    const info = { dataId, shape: [...shape], dtype };
    return {
      tensor: engine().makeTensorFromTensorInfo(info, backend),
      get isFilled() {
        return values !== undefined;
      },
      get holders() {
        return data.has(dataId) ? backend.refCount(dataId) : 0;
      },
      fill(given, begin = 0) {
        const size = util.sizeFromShape([...shape]);
        const all = given.dataSync();
        values = all.length === size ? all : all.subarray(begin, begin + size);
      },
      release: () => (values = undefined),
      held: () => own && tensor(own.values, own.shape, dtype),
    };
  };
}
