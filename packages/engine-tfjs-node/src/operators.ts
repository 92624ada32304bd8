import { engine, type DataType, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import {
  DataTypes,
  type Attribute,
  type Binding,
  type Entry,
  type Result,
  type TensorflowBackend,
} from './backend.js';

/** Runs TensorFlow's operators on the numbers of the binding's tensors, beside tfjs's tape. */
export class Operators {
  readonly binding: Binding;
  /** The attribute `T` of float32 tensors. */
  readonly floats: readonly Attribute[];

  constructor(readonly backend: TensorflowBackend) {
    this.binding = backend.binding;
    this.floats = [this.type('T', DataTypes.float32)];
  }

  type(name: string, value: number): Attribute {
    return { name, type: this.binding.TF_ATTR_TYPE, value };
  }

  flag(name: string, value: boolean): Attribute {
    return { name, type: this.binding.TF_ATTR_BOOL, value };
  }

  text(name: string, value: string): Attribute {
    return { name, type: this.binding.TF_ATTR_STRING, value };
  }

  entryOf(x: TensorInfo): Entry {
    return this.backend.tensorMap.get(x.dataId);
  }

  /** The tensor behind `x`, which keeps it. */
  idOf(x: TensorInfo): number {
    return this.backend.getInputTensorIds([x])[0]!;
  }

  /** A float32 scalar. The caller deletes it. */
  scalar(value: number): number {
    return this.binding.createTensor([], DataTypes.float32, Float32Array.of(value));
  }

  /** An int32 vector. The caller deletes it. */
  vector(values: readonly number[]): number {
    return this.binding.createTensor([values.length], DataTypes.int32, Int32Array.from(values));
  }

  /** The only result of an operator. The caller deletes it. */
  run(name: string, attributes: readonly Attribute[], ids: readonly number[]): Result {
    return this.binding.executeOp(name, attributes, ids, 1)[0]!;
  }

  cast(id: number, from: number, to: number): Result {
    const attributes = [this.type('SrcT', from), this.type('DstT', to), this.flag('Truncate', false)];
    return this.run('Cast', attributes, [id]);
  }

  /** A second number for the same memory. */
  alias(id: number, dtype: number): number {
    return this.run('Identity', [this.type('T', dtype)], [id]).id;
  }

  /** The memory of `id` in another shape. The caller deletes it. */
  reshape(id: number, dtype: number, shape: readonly number[]): number {
    const attributes = [this.type('T', dtype), this.type('Tshape', DataTypes.int32)];
    return this.freeing((keep) => this.run('Reshape', attributes, [id, keep(this.vector(shape))]).id);
  }

  /** Runs `compute`. Afterwards it deletes the tensors that were passed to `keep`, also after an error. */
  freeing<T>(compute: (keep: (id: number) => number) => T): T {
    const created: number[] = [];
    try {
      return compute((id) => {
        created.push(id);
        return id;
      });
    } finally {
      this.delete(...created);
    }
  }

  /** A data id of the backend that takes over the result. */
  hold({ id, dtype, shape }: Result): object {
    const dataId = {};
    this.backend.tensorMap.set(dataId, { shape, dtype, id, values: null, refCount: 1 });
    return dataId;
  }

  /** A tfjs tensor that takes over the result. */
  tensorOf(result: Result, dtype: DataType): Tensor {
    const info = { dataId: this.hold(result), shape: result.shape, dtype };
    return engine().makeTensorFromTensorInfo(info, this.backend);
  }

  delete(...ids: number[]): void {
    for (const id of ids) this.binding.deleteTensor(id);
  }
}
