import type { DataType } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';

/** The backend's name in tfjs. With an underscore, tfjs would skip the set-up of its kernels. */
export const BACKEND_NAME = 'acc';

/** The native dtype of new tensors, for each tfjs dtype. */
export const NATIVE_DTYPE: Readonly<Record<Exclude<DataType, 'string'>, NativeDtype>> = {
  float32: 'float32',
  int32: 'int32',
  bool: 'bool',
  complex64: 'complex64',
};

/** Native dtypes that a tensor of a tfjs dtype may hold; `AccBackend.wrap` converts others. */
export const ALLOWED: Readonly<Record<string, readonly NativeDtype[]>> = {
  float32: ['float32', 'bfloat16', 'float16'],
  int32: ['int32'],
  bool: ['bool'],
  complex64: ['complex64'],
};
