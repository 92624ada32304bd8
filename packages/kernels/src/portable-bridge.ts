import { getBackend, type Tensor } from '@tensorflow/tfjs-core';
import { hostTensor, ownHostTensor, type NativeValues, type TensorBridge } from '@acc/contract';
import { elementsOf, portableTensor } from './state/portable-state.js';

/** Backends whose every read is a new array. */
const COPIES_ON_READ: readonly string[] = ['wasm'];

/** Converts through typed arrays, which every tfjs backend supports. */
export const portableBridge: TensorBridge = {
  toNative(x) {
    const made = COPIES_ON_READ.includes(getBackend()) ? ownHostTensor : hostTensor;
    return made(x.dataSync() as NativeValues, elementsOf(x), x.shape);
  },
  fromNative(native, dtype): Tensor {
    using given = native;
    return portableTensor(given.take?.() ?? given.read(), given.dtype, given.shape, dtype);
  },
};
