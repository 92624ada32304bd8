import type { KernelBackend, TensorInfo } from '@tensorflow/tfjs-core';
import type { AccBackend } from '@acc/kernels';
import type { Tensor as NativeTensor } from '@acc/native';
import type { ReduceOp } from '@acc/contract';
import type { LocalTensors } from '../local-tensors.js';

/** The backend of tensors in shards, which only `acc` holds. */
export function accOf(backend: unknown): AccBackend {
  return backend as KernelBackend as AccBackend;
}

/** Combines a tensor of each rank. Takes over `x`; the caller disposes the result. */
export function reduced(shards: LocalTensors, x: NativeTensor, op: ReduceOp): NativeTensor {
  const backend = accOf(shards.line.backend);
  const local = backend.wrap(x, 'float32');
  const all = shards.line.allReduce(local, op);
  backend.disposeInfo(local);
  const native = backend.native(all).alias();
  backend.disposeInfo(all);
  return native;
}

/** Whether `x` is cut along its dim `dim`, in one repetition. */
export function isShardedAlong(shards: LocalTensors, x: TensorInfo, dim: number): boolean {
  const state = shards.stateOf(x);
  return state?.kind === 'rows' && state.at.dim === dim && state.at.times === 1;
}

/** Runs `use` with this rank's rows of `x`, which may be whole, along `dim`. */
export function withRows<T>(
  shards: LocalTensors,
  x: TensorInfo,
  dim: number,
  use: (local: TensorInfo) => T,
): T {
  if (isShardedAlong(shards, x, dim)) return use(shards.localShardOf(x));
  shards.gatherFull(x);
  const local = shards.cut(x, { dim, times: 1 });
  try {
    return use(local);
  } finally {
    accOf(shards.line.backend).disposeInfo(local);
  }
}
