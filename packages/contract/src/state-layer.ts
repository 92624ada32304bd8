import type { Tensor } from '@tensorflow/tfjs-core';
import type { NativeDtype } from './native-tensor.js';
import type { StateTree } from './state.js';

/** The elements of a tensor as bytes, row-major and little-endian. */
export interface TensorBytes extends Disposable {
  /** To be read only, and not after `dispose`. */
  readonly bytes: Uint8Array;
  dispose(): void;
}

/** Memory that becomes a tensor when it is filled. */
export interface UnfilledTensor extends Disposable {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  /** Row-major and little-endian, of undefined content at first. Not to be used after `toTensor` or `dispose`. */
  readonly bytes: Uint8Array;
  /** Called once. The tensor has the tfjs dtype that stands for the element type, and is the caller's. */
  toTensor(): Tensor;
  /** Gives the memory up, where no tensor was made of it. */
  dispose(): void;
}

/** Elements in a file that become a tensor without a copy. */
export interface MappedTensor extends Disposable {
  /**
   * The CRC-32 (as zlib's) of so many bytes from `start` on, computed on another thread. Has to be asked of every byte before
   * `toTensor`. Undefined where the file can't be read.
   */
  checksum(start: number, length: number): Promise<number | undefined>;
  /** As of {@link UnfilledTensor}. */
  toTensor(): Tensor;
  dispose(): void;
}

/** What checkpoints need of a tfjs backend. */
export interface StateLayer {
  /** The element type behind `x`. @throws AccError `ACC_NOT_NATIVE` for strings. */
  dtypeOf(x: Tensor): NativeDtype;
  /** The elements of `x`, without a copy where they lie in the host's memory. They keep `x`'s memory; caller disposes. */
  bytesOf(x: Tensor): Promise<TensorBytes>;
  allocate(dtype: NativeDtype, shape: readonly number[]): UnfilledTensor;
  /**
   * Elements in a file, from byte `start` on, which is a multiple of 64. The file may go meanwhile, but not change. Undefined where
   * it can't be mapped; absent where none can.
   */
  map?(path: string, start: number, dtype: NativeDtype, shape: readonly number[]): MappedTensor | undefined;
  /** The CRC-32 (as zlib's) of `bytes`, which stay as they are meanwhile, on another thread. Absent where there is none. */
  checksum?(bytes: Uint8Array): Promise<number>;
  /** What numbers depend on beside tensors and random generators, the same on every rank: which of several kernels are taken. */
  getState(): StateTree;
  /** @throws AccError `ACC_STATE_INVALID`. */
  setState(state: StateTree): void;
}
