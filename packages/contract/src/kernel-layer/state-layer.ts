import type { Tensor } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '../tensor/native-tensor.js';
import type { StateTree } from '../storage/state.js';

/** The elements of a tensor as bytes, row-major and little-endian. */
export interface TensorBytes extends Disposable {
  /** Read-only, and not valid after `dispose`. */
  readonly bytes: Uint8Array;
  dispose(): void;
}

/** Memory that becomes a tensor after it is filled. */
export interface UnfilledTensor extends Disposable {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  /**
   * Row-major and little-endian. Initially undefined content. Must not be used after `toTensor` or
   * `dispose`.
   */
  readonly bytes: Uint8Array;
  /**
   * Called once. The tensor has the tfjs dtype that represents the element type. The caller
   * disposes it.
   */
  toTensor(): Tensor;
  /** Frees the memory if it did not become a tensor. */
  dispose(): void;
}

/** Elements in a file that become a tensor without a copy. */
export interface MappedTensor extends Disposable {
  /**
   * The CRC-32 (as in zlib) of `length` bytes from `start` on, computed on another thread. It must
   * be called for every byte before `toTensor`. Undefined if the file cannot be read.
   */
  checksum(start: number, length: number): Promise<number | undefined>;
  /** As in {@link UnfilledTensor}. */
  toTensor(): Tensor;
  dispose(): void;
}

/** The functions of a tfjs backend that checkpoints need. */
export interface StateLayer {
  /** The element type behind `x`. @throws AccError `ACC_NOT_NATIVE` for strings. */
  dtypeOf(x: Tensor): NativeDtype;
  /**
   * The elements of `x`, without a copy if they are in host memory. They keep the memory of `x`
   * alive. The caller disposes them.
   */
  bytesOf(x: Tensor): Promise<TensorBytes>;
  /**
   * As {@link bytesOf}, but at once: it waits for the device. Pages that cannot wait throw an error.
   */
  bytesNow(x: Tensor): TensorBytes;
  allocate(dtype: NativeDtype, shape: readonly number[]): UnfilledTensor;
  /**
   * Maps elements in a file. `start` is their offset in bytes, a multiple of 64. The file may be
   * deleted while it is mapped, but must not change. Returns undefined if it cannot be mapped.
   * Absent if the backend cannot map files.
   */
  map?(path: string, start: number, dtype: NativeDtype, shape: readonly number[]): MappedTensor | undefined;
  /**
   * The CRC-32 (as in zlib) of `bytes`, computed on another thread. `bytes` must not change
   * meanwhile. Absent if there is no such thread.
   */
  checksum?(bytes: Uint8Array): Promise<number>;
  /**
   * The backend state, besides tensors and random generators, that numbers depend on: which of
   * several kernels are used. It is the same on every rank.
   */
  getState(): StateTree;
  /** @throws AccError `ACC_STATE_INVALID`. */
  setState(state: StateTree): void;
}
