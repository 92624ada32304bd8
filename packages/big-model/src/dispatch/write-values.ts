import type { Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { libtorchTensor, TensorMemory } from '@acc/native';
import { bytesOf, type Elements } from '../value-bytes.js';
import type { Place } from './places.js';

/** Writes the values of a variable, from their own memory if libtorch has them in host memory. */
export function writeValues(variable: Variable, place: Place, kernels: KernelLayer): void {
  if (kernels.borrow && kernels.device === 'cpu') {
    using rows = libtorchTensor(kernels.toNative(variable));
    if (rows.dtype === variable.dtype) {
      using memory = new TensorMemory(rows);
      place.write(memory.bytes);
      return;
    }
  }
  place.write(bytesOf(variable.dataSync() as Elements));
}
