import type { KernelConfig, NamedTensorInfoMap, TensorInfo } from '@tensorflow/tfjs-core';
import { BACKEND_NAME } from './acc-names.js';
import type { AccBackend } from './backend.js';

/**
 * tfjs types every input as possibly undefined; inputs that are not optional are always present.
 */
type Present<Inputs> = { [Name in keyof Inputs]: Exclude<Inputs[Name], undefined> };

/** Arguments of a kernel. It borrows its inputs; the caller owns the result. */
export interface KernelCall<Inputs, Attrs> {
  readonly inputs: Present<Inputs>;
  readonly attrs: Attrs;
  readonly backend: AccBackend;
}

/**
 * Makes a tfjs kernel config of this backend. `Inputs` and `Attrs` are tfjs-core's types for the
 * kernel (`AddInputs`), which state shapes and dtypes.
 */
/* @__NO_SIDE_EFFECTS__ */
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
