import { AccError } from './errors.js';

/** Element types the native layer stores. tfjs labels the floating ones `float32`. */
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

/** Elements as JavaScript has them: 16-bit floats as their bits, booleans as 0 and 1, complex numbers as real and imaginary part in turn. */
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
 * A tensor outside of tfjs, as kernel layers and collectives hand it to each other: a handle that its owner disposes exactly once.
 * A layer whose tensors lie in libtorch gives libtorch's, which travel without a copy. Others give {@link hostTensor}, or a class of
 * their own: what it does not know of another one's tensor, each side asks by `read`.
 */
export interface NativeTensor extends Disposable {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  readonly isDisposed: boolean;
  /** The elements, row-major, in the typed array of `dtype`. Not to be written to. @throws AccError `ACC_TENSOR_DISPOSED`. */
  read(): NativeValues;
  dispose(): void;
}

/** A native tensor in JavaScript's memory. It takes over `values`. */
export function hostTensor(values: NativeValues, dtype: NativeDtype, shape: readonly number[]): NativeTensor {
  return new HostTensor(values, dtype, shape);
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
    throw new AccError('ACC_TENSOR_DISPOSED', 'A native tensor was used after it had been disposed.');
  }

  dispose(): void {
    this.#values = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
