import { hostTensor, type NativeValues, type TensorBridge } from '@acc/contract';
import { elementsOf, portableTensor } from './state/portable-state.js';

/** By the typed arrays that every tfjs backend gives and takes. */
export const portableBridge: TensorBridge = {
  toNative: (x) => hostTensor(x.dataSync() as NativeValues, elementsOf(x), x.shape),
  fromNative(native, dtype) {
    using given = native;
    return portableTensor(given.read(), given.dtype, given.shape, dtype);
  },
};
