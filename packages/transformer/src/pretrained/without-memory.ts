import { util, zeros, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import { initializers } from '@tensorflow/tfjs-layers';
import type { Defer, DeferredTensor } from '@acc/contract';
import { patch } from '@acc/tfjs-internals';

/** Smaller weights are not worth a tensor without memory. */
const LEAST_ELEMENTS = 4096;

interface Zeros {
  apply(shape: number[], dtype?: DataType): Tensor;
}

/** Builds a model whose large weights begin as zeros that take no memory until they are read. */
export function withoutMemory<T>(defer: Defer, build: () => T): T {
  const prototype = Object.getPrototypeOf(initializers.zeros()) as Zeros;
  const undo = patch(
    prototype,
    'apply',
    'empty weights',
    (apply) =>
      function (this: Zeros, shape, dtype) {
        if (util.sizeFromShape(shape) < LEAST_ELEMENTS) return apply.call(this, shape, dtype);
        return deferredZeros(defer, shape, dtype ?? 'float32');
      },
  );
  try {
    return build();
  } finally {
    undo();
  }
}

function deferredZeros(defer: Defer, shape: readonly number[], dtype: DataType): Tensor {
  const deferred: DeferredTensor = defer({ shape, dtype }, () => {
    const values = zeros([...shape], dtype);
    deferred.fill(values);
    values.dispose();
  });
  return deferred.tensor;
}
