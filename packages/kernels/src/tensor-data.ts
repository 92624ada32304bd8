import type { BackendValues, DataType } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';

const reshape = operator('aten::reshape');

/**
 * What a tfjs `dataId` of this backend is: the object itself holds the data, so that no table has to be searched.
 * tfjs counts references to it.
 */
export class TensorData {
  refCount = 1;
  /** True once garbage collection watches over it; see garbage.ts. */
  watched = false;

  #view: NativeTensor | undefined;

  constructor(
    readonly dtype: DataType,
    /** Absent for strings, which live in {@link strings}. */
    readonly native: NativeTensor | undefined,
    readonly strings: BackendValues | undefined,
  ) {}

  /**
   * The native tensor in the shape `shape`. tfjs tensors of different shapes may share one data id, when another
   * backend's reshape made them.
   */
  nativeAs(native: NativeTensor, shape: readonly number[]): NativeTensor {
    if (sameShape(native.shape, shape)) return native;
    if (!this.#view || !sameShape(this.#view.shape, shape)) {
      this.#view?.dispose();
      this.#view = reshape(native, shape);
    }
    return this.#view;
  }

  /** Frees the native memory. */
  dispose(): void {
    this.#view?.dispose();
    this.native?.dispose();
  }
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
