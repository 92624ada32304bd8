import type { Tensor } from '@acc/native';
import { cast, indexSelect, shortProduct } from './operators.js';
import type { PackedMatrix } from './packed-matrix.js';
import { joinRecords, splitRecords, type RecordPart } from './records.js';

const NATIVE = { bf16: 'bfloat16', fp16: 'float16' } as const;

/** The parts of a record, which is a row. */
export const halfParts = (dtype: 'bf16' | 'fp16', columns: number): RecordPart[] => [
  { dtype: NATIVE[dtype], length: columns },
];

/** Values as 16-bit floats, rounded to the nearest. */
export class HalfMatrix implements PackedMatrix {
  readonly granularity = 'tensor';

  /** @param tensors 16-bit floats `[rows, columns]`, which it takes over. */
  constructor(
    readonly tensors: readonly [Tensor],
    readonly dtype: 'bf16' | 'fp16',
  ) {}

  static of(matrix: Tensor, dtype: 'bf16' | 'fp16'): HalfMatrix {
    return new HalfMatrix([cast(matrix, NATIVE[dtype])], dtype);
  }

  static from(records: Tensor, columns: number, dtype: 'bf16' | 'fp16'): HalfMatrix {
    return new HalfMatrix(splitRecords(records, halfParts(dtype, columns)) as [Tensor], dtype);
  }

  records(): Tensor {
    return joinRecords(this.tensors);
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
