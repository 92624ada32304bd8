import type { KernelBackend, TensorInfo } from '@tensorflow/tfjs-core';
import type { AccBackend } from '@acc/kernels';
import type { Tensor as NativeTensor } from '@acc/native';
import type { ReduceOp } from '@acc/contract';
import type { Pieces } from '../pieces.js';

/** The backend of tensors in pieces, which only `acc` holds. */
export function accOf(backend: unknown): AccBackend {
  return backend as KernelBackend as AccBackend;
}

/** Combines a tensor of each rank. Takes over `x`; the caller disposes the result. */
export function reduced(pieces: Pieces, x: NativeTensor, op: ReduceOp): NativeTensor {
  const backend = accOf(pieces.line.backend);
  const own = backend.wrap(x, 'float32');
  const all = pieces.line.allReduce(own, op);
  backend.disposeInfo(own);
  const native = backend.native(all).alias();
  backend.disposeInfo(all);
  return native;
}

/** Whether `x` is cut along its dim `dim`, in one repetition. */
export function isCutAlong(pieces: Pieces, x: TensorInfo, dim: number): boolean {
  const state = pieces.stateOf(x);
  return state?.kind === 'rows' && state.at.dim === dim && state.at.times === 1;
}

/** Runs `use` with this rank's rows of `x`, which may be whole, along `dim`. */
export function withRows<T>(pieces: Pieces, x: TensorInfo, dim: number, use: (own: TensorInfo) => T): T {
  if (isCutAlong(pieces, x, dim)) return use(pieces.pieceOf(x));
  pieces.makeWhole(x);
  const own = pieces.cut(x, { dim, times: 1 });
  try {
    return use(own);
  } finally {
    accOf(pieces.line.backend).disposeInfo(own);
  }
}
