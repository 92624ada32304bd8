import { hostTensor, type NativeValues, type TensorBridge } from '@acc/contract';
import { elementsOf, portableTensor } from './state/portable-state.js';

/** Converts through typed arrays, which every tfjs backend supports. */
export const portableBridge: TensorBridge = {
  toNative: (x) => hostTensor(x.dataSync() as NativeValues, elementsOf(x), x.shape),
  fromNative(native, dtype) {
    using given = native;
    return portableTensor(given.read(), given.dtype, given.shape, dtype);
  },
};
