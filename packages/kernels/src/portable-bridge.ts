import { findBackend, type Tensor } from '@tensorflow/tfjs-core';
import { hostTensor, ownedHostTensor, type NativeValues, type TensorBridge } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { elementsOf, portableTensor } from './state/portable-state.js';

/** The backend whose every read is a new array. Others may return the array that they keep. */
const COPIES_ON_READ = 'wasm';

/** Converts through typed arrays, which every tfjs backend supports. */
export const portableBridge: TensorBridge = {
  toNative(x) {
    // A tensor stays on the backend on which it was made, which need not be the active one.
    const holder = engineInternals().state.tensorInfo.get(x.dataId)?.backend;
    const isCopied = holder !== undefined && holder === findBackend(COPIES_ON_READ);
    const created = isCopied ? ownedHostTensor : hostTensor;
    return created(x.dataSync() as NativeValues, elementsOf(x), x.shape);
  },
  fromNative(native, dtype): Tensor {
    using given = native;
    return portableTensor(given.take?.() ?? given.read(), given.dtype, given.shape, dtype);
  },
};
