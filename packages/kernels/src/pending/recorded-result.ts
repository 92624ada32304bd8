import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import type { Tensor as NativeTensor } from '@acc/native';

/** A backend, which finds native tensors. */
export interface NativeTensors {
  native(info: TensorInfo): NativeTensor;
}

/** The value of a waiting result in a recording. */
export interface RecordedResult {
  /** Whether its recording is in progress. */
  readonly isCurrent: boolean;
  /** The value in the place of `info`, for a kernel that is to be recorded and not computed. */
  standsFor(info: TensorInfo): TensorInfo;
  /** Computes the value in calls of which the recording takes no notice. */
  compute(action: () => NativeTensor): NativeTensor;
  /** The recording takes `native` for the value. */
  bind(native: NativeTensor): void;
  /** As {@link compute}, for the value of `info` in another dtype. */
  computeAs(
    backend: NativeTensors,
    info: TensorInfo,
    dtype: NativeDtype,
    action: () => NativeTensor,
  ): NativeTensor;
  dispose(): void;
}
