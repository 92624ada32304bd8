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

/** A tensor of the native layer: a handle that its owner disposes exactly once. */
export interface NativeTensor extends Disposable {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  readonly isDisposed: boolean;
  dispose(): void;
}
