import { engine } from '@tensorflow/tfjs-core';
import type { Defer } from '@acc/contract';
import { operator } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { TensorData } from '../tensor-data.js';

const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');

/** Deferred tensors of the backend `acc`. Values are views of the tensors that they are filled with. */
export function deferOn(backend: AccBackend): Defer {
  return ({ shape, dtype, held }, load) => {
    const data: TensorData = new TensorData(dtype, undefined, undefined, undefined, () => {
      load();
      return data.held!;
    });
    const own = held && contiguous(backend.native(held));
    held?.dispose();
    if (own) data.attach([own]);
    const info = { dataId: backend.hold(data), shape: [...shape], dtype };
    return {
      tensor: engine().makeTensorFromTensorInfo(info, backend),
      get isFilled() {
        return data.held !== undefined;
      },
      get holders() {
        return data.isDisposed ? 0 : data.refCount;
      },
      fill: (values) => data.fill(reshape(backend.native(values), shape)),
      release: () => data.release(),
      held: () => own && backend.tensorOf(own.alias(), dtype),
    };
  };
}
