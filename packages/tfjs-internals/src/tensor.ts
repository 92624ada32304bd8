import type { DataId, Rank, Tensor, TensorBuffer } from '@tensorflow/tfjs-core';

/** The members of tfjs-core's Tensor that are missing from its public types. */
export interface TensorInternals {
  isDisposedInternal: boolean;
  dataId: DataId;
  /** The scope that disposes the tensor. */
  scopeId: number;
}

export function tensorInternals(tensor: Tensor): TensorInternals {
  return tensor as unknown as TensorInternals;
}

/** A TensorBuffer whose values may be replaced, also by values of another length. */
export interface TensorBufferInternals {
  values: Float32Array | Int32Array | Uint8Array;
  readonly shape: number[];
  toTensor(): Tensor;
}

export function bufferInternals(buffer: TensorBuffer<Rank>): TensorBufferInternals {
  return buffer as unknown as TensorBufferInternals;
}
