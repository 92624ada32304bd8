import { engine, util, Tensor, type KernelBackend, type TensorInfo } from '@tensorflow/tfjs-core';
import { besideTape, engineInternals } from '@acc/tfjs-internals';

/** Takes a tensor's data out of tfjs's books, as a kernel's result. Takes over `x`. */
export function apart(x: Tensor, backend: KernelBackend): TensorInfo {
  const { dataId, shape, dtype } = x;
  backend.incRef(dataId);
  x.dispose();
  engine().removeDataId(dataId, backend);
  return { dataId, shape, dtype };
}

/** A kernel's result that tfjs does not know. Some kernels return tensors. */
export function untracked(x: TensorInfo, backend: KernelBackend): TensorInfo {
  return x instanceof Tensor ? apart(x, backend) : x;
}

/** Runs `compute` with tfjs tensors for data that may not be in tfjs's books. Returns its result's data. */
export function withTensor(
  x: TensorInfo,
  backend: KernelBackend,
  compute: (tensor: Tensor) => Tensor,
): TensorInfo {
  const tfjs = engine();
  const isKnown = engineInternals().state.tensorInfo.has(x.dataId);
  return besideTape(() => {
    backend.incRef(x.dataId);
    const local = tfjs.makeTensorFromTensorInfo(x, backend);
    try {
      return apart(compute(local), backend);
    } finally {
      local.dispose();
      if (!isKnown) tfjs.removeDataId(x.dataId, backend);
    }
  });
}

/** A new tfjs tensor that shares the data of `x`, which keeps its owner. */
export function tensorOf(x: TensorInfo, backend: KernelBackend): Tensor {
  backend.incRef(x.dataId);
  return engine().makeTensorFromTensorInfo({ dataId: x.dataId, shape: x.shape, dtype: x.dtype }, backend);
}

export const sizeOf = ({ shape }: TensorInfo): number => util.sizeFromShape(shape);
