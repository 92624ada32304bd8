import { AccError } from '../errors/errors.js';

/** The element types of native tensors. tfjs labels all floating-point types `float32`. */
export type NativeDtype =
  | 'float32'
  | 'float64'
  | 'float16'
  | 'bfloat16'
  | 'int64'
  | 'int32'
  | 'int16'
  | 'int8'
  | 'uint8'
  | 'bool'
  | 'complex64';

/**
 * Elements in JavaScript: 16-bit floats as their bits, booleans as 0 and 1, complex numbers as
 * alternating real and imaginary parts.
 */
export type NativeValues =
  | Float32Array
  | Float64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint8Array
  | Uint16Array
  | BigInt64Array;

/**
 * A tensor outside of tfjs, which kernel layers and collectives exchange. It is a handle that its
 * owner disposes exactly once. A layer whose tensors are in libtorch gives libtorch's tensors,
 * which are passed without a copy. Other layers give a {@link hostTensor} or their own class. A
 * receiver that does not know the class uses `read`.
 */
export interface NativeTensor extends Disposable {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  readonly isDisposed: boolean;
  /**
   * The elements, row-major, in the typed array of `dtype`. They must not be modified.
   *
   * @throws AccError `ACC_TENSOR_DISPOSED`.
   */
  read(): NativeValues;
  /**
   * Disposes the tensor and returns its elements, row-major, in an array that nobody else holds, so
   * that it may be modified. Absent if the elements would have to be copied.
   *
   * @throws AccError `ACC_TENSOR_DISPOSED`.
   */
  take?(): NativeValues;
  dispose(): void;
}

/** A native tensor in memory of JavaScript. Others may hold `values`, too, and must not modify them. */
export function hostTensor(values: NativeValues, dtype: NativeDtype, shape: readonly number[]): NativeTensor {
  return new HostTensor(values, dtype, shape);
}

/** A native tensor in an array that nobody else holds. The receiver may take the array. */
export function ownedHostTensor(
  values: NativeValues,
  dtype: NativeDtype,
  shape: readonly number[],
): NativeTensor {
  return new OwnHostTensor(values, dtype, shape);
}

class HostTensor implements NativeTensor {
  #values: NativeValues | undefined;

  constructor(
    values: NativeValues,
    readonly dtype: NativeDtype,
    readonly shape: readonly number[],
  ) {
    this.#values = values;
  }

  get isDisposed(): boolean {
    return this.#values === undefined;
  }

  read(): NativeValues {
    if (this.#values) return this.#values;
    throw new AccError('ACC_TENSOR_DISPOSED', 'A native tensor was used after it had been disposed.', {
      help: 'Keep it alive until its last use: tf.keep, or dispose() later.',
    });
  }

  dispose(): void {
    this.#values = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

class OwnHostTensor extends HostTensor {
  take(): NativeValues {
    const values = this.read();
    this.dispose();
    return values;
  }
}
