import type { KernelConfig, NamedTensorInfoMap, TensorInfo } from '@tensorflow/tfjs-core';
import { BACKEND_NAME, type AccBackend } from './backend.js';

/** tfjs types every input as possibly undefined; those that are not optional are there. */
type Present<Inputs> = { [Name in keyof Inputs]: Exclude<Inputs[Name], undefined> };

/** What a kernel works on. Inputs are borrowed; what it returns is the caller's. */
export interface KernelCall<Inputs, Attrs> {
  readonly inputs: Present<Inputs>;
  readonly attrs: Attrs;
  readonly backend: AccBackend;
}

/**
 * A tfjs kernel of this backend. `Inputs` and `Attrs` are tfjs-core's types of the same name (`AddInputs`), which state
 * shapes and dtypes.
 */
export function kernel<Inputs, Attrs = unknown>(
  kernelName: string,
  compute: (call: KernelCall<Inputs, Attrs>) => TensorInfo | TensorInfo[],
): KernelConfig {
  return {
    kernelName,
    backendName: BACKEND_NAME,
    kernelFunc: ({ inputs, attrs, backend }) =>
      compute({
        inputs: inputs as NamedTensorInfoMap as Present<Inputs>,
        attrs: attrs as Attrs,
        backend: backend as AccBackend,
      }),
  };
}
