import { AccError, type NativeDtype, type NativeTensor, type NativeValues } from '@acc/contract';
import { addon } from './addon.js';
import { arrayTypeOf, scalarTypeOf } from './dtype.js';
import { converted, guarded } from './errors.js';

/**
 * A handle to a libtorch tensor. Its owner disposes it exactly once, or declares it with `using`.
 * The memory is freed when no handle and no view of it is left.
 */
export class Tensor implements NativeTensor {
  #id: number;
  /** The array in whose memory the elements are. */
  #values: NativeValues | undefined;

  constructor(
    id: number,
    readonly dtype: NativeDtype,
    readonly shape: readonly number[],
  ) {
    this.#id = id;
  }

  /**
   * A tensor in the memory of `values`, which the caller gives away: nobody else may hold the array.
   * A device other than the CPU gets a copy. The caller disposes the tensor.
   *
   * @param values Elements in row-major order, in the typed array that {@link Tensor.read} returns
   * for `dtype`.
   * @throws AccError `ACC_INVALID_ARGUMENT` if the number of elements does not match `shape`.
   */
  static over(values: NativeValues, dtype: NativeDtype, shape: readonly number[]): Tensor {
    const id = guarded(() => addon().tensorOver(values, scalarTypeOf(dtype), shape));
    if (id === 0) return tensorFrom(values, dtype, shape);
    const tensor = new Tensor(id, dtype, shape);
    tensor.#values = values;
    return tensor;
  }

  /** The number of the tensor in the addon. 0 after `dispose`. */
  get id(): number {
    return this.#id;
  }

  get isDisposed(): boolean {
    return this.#id === 0;
  }

  /** Releases the handle. A second call does nothing. */
  dispose(): void {
    if (this.#id === 0) return;
    addon().releaseTensor(this.#id);
    this.#id = 0;
    this.#values = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** The size of the tensor's elements, in bytes. */
  get byteLength(): number {
    return guarded(() => addon().tensorBytes(this.#id));
  }

  /** A second handle of the same tensor, which must be disposed separately. */
  alias(): Tensor {
    this.#values = undefined;
    return new Tensor(
      guarded(() => addon().aliasTensor(this.#id)),
      this.dtype,
      this.shape,
    );
  }

  /**
   * Copies the elements in row-major order, converted to `dtype` (default: the tensor's own). Waits
   * for the device. 16-bit floats are returned as their bit patterns.
   *
   * @throws AccError `ACC_TENSOR_DISPOSED`.
   */
  read(dtype: NativeDtype = this.dtype): NativeValues {
    const buffer = guarded(() => addon().readTensor(this.#id, scalarTypeOf(dtype)));
    return new (arrayTypeOf(dtype))(buffer as never) as NativeValues;
  }

  /**
   * Disposes the tensor and returns its elements, in an array that nobody else holds. That is the
   * array of {@link Tensor.over}, or a copy. No view of the tensor may be in use, and no call that
   * writes to it may run.
   *
   * @throws AccError `ACC_TENSOR_DISPOSED`.
   */
  take(): NativeValues {
    const values = this.#values ?? this.read();
    this.dispose();
    return values;
  }

  /**
   * The asynchronous form of {@link read}. The elements are those at the time of the call. The
   * handle may be disposed meanwhile.
   */
  async readAsync(dtype: NativeDtype = this.dtype): Promise<NativeValues> {
    const buffer = await converted(guarded(() => addon().readTensorAsync(this.#id, scalarTypeOf(dtype))));
    return new (arrayTypeOf(dtype))(buffer as never) as NativeValues;
  }
}

/**
 * Creates a tensor with a copy of `values` on the default device. The caller disposes it.
 *
 * @param values Elements in row-major order, in the typed array that {@link Tensor.read} returns
 * for `dtype`.
 * @throws AccError `ACC_INVALID_ARGUMENT` if the number of elements does not match `shape`.
 */
export function tensorFrom(values: NodeJS.TypedArray, dtype: NativeDtype, shape: readonly number[]): Tensor {
  return created(values, dtype, shape, false);
}

/**
 * As {@link tensorFrom}, in memory of the CPU whatever the default device is. For what ranks tell each
 * other, which no operator reads.
 */
export function tensorOnHost(
  values: NodeJS.TypedArray,
  dtype: NativeDtype,
  shape: readonly number[],
): Tensor {
  return created(values, dtype, shape, true);
}

function created(
  values: NodeJS.TypedArray,
  dtype: NativeDtype,
  shape: readonly number[],
  isOnHost: boolean,
): Tensor {
  const id = guarded(() => addon().createTensor(values, scalarTypeOf(dtype), shape, isOnHost));
  return new Tensor(id, dtype, shape);
}

/**
 * A tensor `[length]` of the elements from `start` on, in the memory of a row-major tensor. It keeps
 * the memory alive, and the caller disposes it. Writes to one change the other, but {@link
 * memoryFlags} count neither as a user of the other's memory. So only somebody who knows all
 * tensors in the memory may write to them.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` for a range outside of the tensor, or a tensor that is not
 * contiguous; `ACC_TENSOR_DISPOSED`.
 */
export function memoryPart(whole: Tensor, start: number, length: number): Tensor {
  const id = guarded(() => addon().memoryPart(whole.id, start, length));
  return new Tensor(id, whole.dtype, [length]);
}

/**
 * Takes ownership of `x` and returns it as a libtorch tensor. Of other implementations, elements that
 * `take` gives are used where they are, and others are copied.
 */
export function libtorchTensor(x: NativeTensor): Tensor {
  if (x instanceof Tensor) return x;
  using given = x;
  const { dtype, shape } = given;
  return Tensor.over(given.take?.() ?? given.read().slice(), dtype, shape);
}

/** The bits of {@link memoryFlags}. They must match `MemoryFlag` in cpp/engine/tensors/tensors.h. */
export const MemoryFlag = {
  /** The elements are in row-major order without gaps. */
  contiguous: 1,
  /**
   * No other handle, view or pending call uses the tensor's memory, so writing to it changes no
   * other tensor.
   */
  exclusive: 2,
} as const;

/**
 * The {@link MemoryFlag}s of each tensor, from one native call. They say whether memory may be
 * written in place, or read as a row-major block.
 *
 * @throws AccError `ACC_TENSOR_DISPOSED`.
 */
export function memoryFlags(tensors: readonly NativeTensor[]): Uint8Array {
  const ids = new Float64Array(tensors.length);
  for (let i = 0; i < tensors.length; i++) ids[i] = (tensors[i] as Tensor).id;
  return guarded(() => addon().tensorFlags(ids));
}

/**
 * @throws AccError `ACC_TENSOR_DISPOSED` if the handle is disposed; `ACC_NOT_NATIVE` if the tensor is
 * not libtorch's.
 */
export function requireAlive(tensor: NativeTensor): Tensor {
  if (tensor.isDisposed) {
    throw new AccError('ACC_TENSOR_DISPOSED', 'A native tensor was used after it was disposed.', {
      help: 'Keep it alive until its last use: tf.keep, or dispose() later.',
    });
  }
  if (tensor instanceof Tensor) return tensor;
  throw new AccError(
    'ACC_NOT_NATIVE',
    "A native tensor that is not libtorch's came to an operator of libtorch.",
    {
      help: 'Make one of its values by tensorFrom(x.read(), x.dtype, x.shape).',
    },
  );
}
