import type { Tensor } from '@acc/native';
import { cast, indexSelect, shortProduct } from './operators.js';
import type { PackedMatrix } from './packed-matrix.js';

const NATIVE = { bf16: 'bfloat16', fp16: 'float16' } as const;

/** Values as 16-bit floats, rounded to the nearest. */
export class HalfMatrix implements PackedMatrix {
  readonly granularity = 'tensor';
  readonly tensors: readonly [Tensor];

  constructor(
    matrix: Tensor,
    readonly dtype: 'bf16' | 'fp16',
  ) {
    this.tensors = [cast(matrix, NATIVE[dtype])];
  }

  values(): Tensor {
    return cast(this.tensors[0], 'float32');
  }

  /** Products in float16 are slow on CPUs. */
  product(x: Tensor): Tensor | undefined {
    return this.dtype === 'bf16' ? shortProduct(x, this.tensors[0]) : undefined;
  }

  rows(indices: Tensor): Tensor {
    using found = indexSelect(this.tensors[0], 0, indices);
    return cast(found, 'float32');
  }
}
