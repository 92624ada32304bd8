import type { KernelConfig, TensorInfo } from '@tensorflow/tfjs-core';
import { runOnCpu } from '../cpu-fallback.js';
import { kernel, type KernelCall } from '../kernel.js';

/**
 * A kernel that tfjs also supports for strings. libtorch does not: if the input named `input` (or
 * at that index of a list of inputs) holds strings, tfjs cpu's kernel runs.
 */
export function kernelWithStrings<Inputs, Attrs = unknown>(
  kernelName: string,
  input: string | number,
  compute: (call: KernelCall<Inputs, Attrs>) => TensorInfo | TensorInfo[],
): KernelConfig {
  const native = kernel<Inputs, Attrs>(kernelName, compute);
  const onCpu = runOnCpu(kernelName);
  return {
    ...native,
    kernelFunc: (call) => (call.inputs[input]!.dtype === 'string' ? onCpu(call) : native.kernelFunc(call)),
  };
}
