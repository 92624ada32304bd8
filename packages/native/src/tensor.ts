import { AccError, type NativeDtype, type NativeTensor } from '@acc/contract';
import { addon } from './addon.js';
import { arrayTypeOf, scalarTypeOf, type NativeTypedArray } from './dtype.js';
import { converted, guarded } from './errors.js';

/**
 * A tensor in libtorch. The handle's owner disposes it exactly once, or holds it with `using`; memory goes when no
 * handle and no view of it is left.
 */
export class Tensor implements NativeTensor {
  #id: number;

  constructor(
    id: number,
    readonly dtype: NativeDtype,
    readonly shape: readonly number[],
  ) {
    this.#id = id;
  }

  /** The number under which the addon holds the tensor; 0 after `dispose`. */
  get id(): number {
    return this.#id;
  }

  get isDisposed(): boolean {
    return this.#id === 0;
  }

  /** Frees the handle. A second call does nothing. */
  dispose(): void {
    if (this.#id === 0) return;
    addon().releaseTensor(this.#id);
    this.#id = 0;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Bytes of the tensor's elements. */
  get byteLength(): number {
    return guarded(() => addon().tensorBytes(this.#id));
  }

  /** A second handle of the same tensor, to be disposed by itself. */
  alias(): Tensor {
    return new Tensor(
      guarded(() => addon().aliasTensor(this.#id)),
      this.dtype,
      this.shape,
    );
  }

  /**
   * Copies the elements out, row-major, converted to `dtype` (by default the tensor's own). Waits for the device.
   * The 16-bit floats come as their bits.
   *
   * @throws AccError `ACC_TENSOR_DISPOSED`.
   */
  read(dtype: NativeDtype = this.dtype): NativeTypedArray {
    const buffer = guarded(() => addon().readTensor(this.#id, scalarTypeOf(dtype)));
    return new (arrayTypeOf(dtype))(buffer as never) as NativeTypedArray;
  }

  /** {@link read}, while this thread goes on. The elements are those of now; the handle may be disposed meanwhile. */
  async readAsync(dtype: NativeDtype = this.dtype): Promise<NativeTypedArray> {
    const buffer = await converted(guarded(() => addon().readTensorAsync(this.#id, scalarTypeOf(dtype))));
    return new (arrayTypeOf(dtype))(buffer as never) as NativeTypedArray;
  }
}

/**
 * A tensor with a copy of `values`, on the default device. Caller disposes.
 *
 * @param values Row-major elements, in the typed array that {@link Tensor.read} gives for `dtype`.
 * @throws AccError `ACC_INVALID_ARGUMENT` when the number of elements does not fit `shape`.
 */
export function tensorFrom(values: NodeJS.TypedArray, dtype: NativeDtype, shape: readonly number[]): Tensor {
  const id = guarded(() => addon().createTensor(values, scalarTypeOf(dtype), shape));
  return new Tensor(id, dtype, shape);
}

/** Bits of {@link memoryFlags}; the other half is `MemoryFlag` in cpp/engine/tensors.h. */
export const MemoryFlag = {
  /** Row-major without gaps. */
  contiguous: 1,
  /** No other handle, view or call under way sees what is written into the tensor. */
  exclusive: 2,
} as const;

/**
 * For each tensor the {@link MemoryFlag}s that hold, in one native call: what must be known before memory is written in
 * place or read as a row-major block.
 *
 * @throws AccError `ACC_TENSOR_DISPOSED`.
 */
export function memoryFlags(tensors: readonly NativeTensor[]): Uint8Array {
  const ids = new Float64Array(tensors.length);
  for (let i = 0; i < tensors.length; i++) ids[i] = (tensors[i] as Tensor).id;
  return guarded(() => addon().tensorFlags(ids));
}

/** @throws AccError `ACC_TENSOR_DISPOSED` for a handle that was disposed. */
export function requireAlive(tensor: NativeTensor): Tensor {
  if (tensor.isDisposed) {
    throw new AccError('ACC_TENSOR_DISPOSED', 'A native tensor was used after it had been disposed.');
  }
  return tensor as Tensor;
}
