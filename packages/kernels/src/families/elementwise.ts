import type { BinaryInputs, DataType, KernelConfig, TensorInfo, UnaryInputs } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

type Result = (input: TensorInfo) => DataType;
const sameDtype: Result = ({ dtype }) => dtype;
export const boolResult: Result = () => 'bool';
export const floatResult: Result = () => 'float32';

/** A kernel of one input whose result has its shape. `resultDtype` is by default the input's. */
export function unaryKernel(
  kernelName: string,
  compute: string | ((x: NativeTensor) => NativeTensor),
  resultDtype: Result = sameDtype,
): KernelConfig {
  const run = typeof compute === 'string' ? operator(compute) : compute;
  return kernel<UnaryInputs>(kernelName, ({ inputs: { x }, backend }) =>
    backend.wrap(run(backend.native(x)), resultDtype(x)),
  );
}

/** A kernel of two inputs that broadcast against each other. `resultDtype` is by default that of `a`. */
export function binaryKernel(
  kernelName: string,
  compute: string | ((a: NativeTensor, b: NativeTensor) => NativeTensor),
  resultDtype: Result = sameDtype,
): KernelConfig {
  const run = typeof compute === 'string' ? operator(compute) : compute;
  return kernel<BinaryInputs>(kernelName, ({ inputs: { a, b }, backend }) =>
    backend.wrap(run(backend.native(a), backend.native(b)), resultDtype(a)),
  );
}
