import type { BackendValues, DataId, KernelBackend, Tensor, TensorInfo } from '@tensorflow/tfjs-core';

/** An attribute of a TensorFlow operator. `type` is one of the constants `TF_ATTR_…`. */
export interface Attribute {
  readonly name: string;
  readonly type: number;
  readonly value: unknown;
}

/** The binding's description of a result. `dtype` is TensorFlow's number of the element type. */
export interface Result {
  readonly id: number;
  readonly dtype: number;
  readonly shape: number[];
}

/**
 * The native binding of tfjs-node. Tensors are numbers, which it hands out and never uses again.
 * Errors of TensorFlow are thrown as `Error`.
 */
export interface Binding {
  readonly TF_ATTR_STRING: number;
  readonly TF_ATTR_INT: number;
  readonly TF_ATTR_BOOL: number;
  readonly TF_ATTR_TYPE: number;
  readonly TF_ATTR_SHAPE: number;
  /** `dtype` is one that tfjs-node knows; 16-bit floats are not among them. */
  createTensor(shape: readonly number[], dtype: number, values: BackendValues): number;
  deleteTensor(id: number): void;
  /** A copy of the elements. */
  tensorDataSync(id: number): BackendValues;
  executeOp(
    name: string,
    attributes: readonly Attribute[],
    ids: readonly number[],
    results: number,
  ): Result[];
  getNumOfTensors(): number;
}

/** The entry of a data id in the backend's table. */
export interface Entry {
  shape: readonly number[];
  /** TensorFlow's number of the element type. */
  readonly dtype: number;
  /** The tensor in TensorFlow. -1 until the first operator takes {@link values}. */
  id: number;
  /** The values before they are in TensorFlow; else null. */
  values: BackendValues | null;
  refCount: number;
  /** The same values in another element type, which live as long as the entry. */
  converted?: Converted | undefined;
  /**
   * Frees the values of a deferred tensor, which are loaded when {@link id} or {@link dtype} is read.
   * Absent in entries of other tensors.
   */
  readonly release?: () => void;
}

export interface Converted {
  /** The tensor that was converted. Another number in the entry means that the values changed. */
  readonly of: number;
  readonly dtype: number;
  readonly id: number;
}

/** The members of tfjs-node's backend `tensorflow` that the layer uses. */
export interface TensorflowBackend extends KernelBackend {
  readonly binding: Binding;
  readonly isUsingGpuDevice: boolean;
  readonly tensorMap: {
    has(dataId: DataId): boolean;
    get(dataId: DataId): Entry;
    set(dataId: DataId, entry: Entry): void;
    delete(dataId: DataId): boolean;
  };
  /** Uploads values that are not in TensorFlow yet. */
  getInputTensorIds(tensors: readonly TensorInfo[]): number[];
  executeSingleOutput(name: string, attributes: readonly Attribute[], inputs: readonly TensorInfo[]): Tensor;
  executeMultipleOutputs(
    name: string,
    attributes: readonly Attribute[],
    inputs: readonly TensorInfo[],
    results: number,
  ): Tensor[];
  createOutputTensor(result: Result): Tensor;
  readSync(dataId: DataId): BackendValues;
  disposeData(dataId: DataId, force?: boolean): boolean;
}

/** TensorFlow's numbers of element types (`TF_DataType`). */
export const DataTypes = {
  float32: 1,
  int32: 3,
  uint8: 4,
  bfloat16: 14,
  float16: 19,
} as const;

/** The 16-bit types, whose tensors tfjs calls `float32`. */
export type ShortDtype = 'bfloat16' | 'float16';

export const isShort = (dtype: number): boolean =>
  dtype === DataTypes.bfloat16 || dtype === DataTypes.float16;
