import type { ChannelAxis, Granularity, StorageFormat } from '@acc/kernels';
import type { Tensor } from '@acc/native';
import { HalfMatrix, halfParts } from './formats/half.js';
import { Int4Matrix, int4Parts } from './formats/int4.js';
import { Int8Matrix, int8Parts } from './formats/int8.js';
import { Nf4Matrix, nf4Parts } from './formats/nf4.js';
import type { InputRange, MatrixShape, PackedMatrix } from './formats/packed-matrix.js';
import { recordLength, wordsOf, type Groups, type RecordPart } from './formats/records.js';
import type { WeightSettings } from './options.js';
import { isOnCpu } from './on-cpu.js';

/** Properties of a matrix in memory beside its format. */
export interface MatrixUse {
  /** Whether products round their input to int8. */
  readonly dynamic: boolean;
  /** Whether products that round no input compute in float32. */
  readonly exact: boolean;
  /** By which products round their input to int8. */
  readonly range?: InputRange | undefined;
}

interface NewMatrix {
  readonly axis: ChannelAxis;
  /**
   * Of int8, and of int4 without zeros: float32 `[channels or 1, groups, 1]`, borrowed. Undefined: those of the
   * algorithm.
   */
  readonly scales?: Tensor | undefined;
  readonly range?: InputRange | undefined;
}

/** Packs a float32 matrix `[channels, others]`, which it borrows. */
export function matrixOf(
  matrix: Tensor,
  { weights, granularity, algorithm, activations }: WeightSettings,
  { axis, scales, range }: NewMatrix,
): PackedMatrix {
  switch (weights) {
    case 'bf16':
    case 'fp16':
      return HalfMatrix.of(matrix, weights);
    case 'int8':
      return Int8Matrix.of(matrix, { granularity, dynamic: activations === 'dynamic', range }, scales);
    case 'int4':
      return scales
        ? Int4Matrix.scaled(matrix, scales, int4Options(granularity, axis))
        : Int4Matrix.of(matrix, algorithm, int4Options(granularity, axis));
    case 'nf4':
      return Nf4Matrix.of(matrix, groupsIn(granularity));
  }
}

/** A matrix from its records, which it borrows. */
export function matrixFrom(
  records: Tensor,
  shape: MatrixShape,
  { dtype, granularity, axis }: StorageFormat,
  { dynamic, range }: Pick<MatrixUse, 'dynamic' | 'range'>,
): PackedMatrix {
  switch (dtype) {
    case 'bf16':
    case 'fp16':
      return HalfMatrix.from(records, shape[1], dtype);
    case 'int8':
      return Int8Matrix.from(records, shape, { granularity, dynamic, range });
    case 'int4':
      return Int4Matrix.from(records, shape, int4Options(granularity, axis));
    case 'nf4':
      return Nf4Matrix.from(records, shape, groupsIn(granularity));
  }
}

/** The shape of the records of a matrix. */
export function recordShape(
  [rows, columns]: MatrixShape,
  { dtype, granularity }: StorageFormat,
): [records: number, words: number] {
  return [
    rows * (columns / recordLength(granularity, columns)),
    wordsOf(partsOf(dtype, granularity, columns)),
  ];
}

function partsOf(dtype: StorageFormat['dtype'], granularity: Granularity, columns: number): RecordPart[] {
  switch (dtype) {
    case 'bf16':
    case 'fp16':
      return halfParts(dtype, columns);
    case 'int8':
      return int8Parts(granularity, columns);
    case 'int4':
      return int4Parts(groupsIn(granularity));
    case 'nf4':
      return nf4Parts(groupsIn(granularity));
  }
}

export const int4Options = (granularity: Granularity, axis: ChannelAxis) => ({
  granularity: groupsIn(granularity),
  forProducts: axis === 'last' && isOnCpu(),
});

const groupsIn = (granularity: Granularity) => granularity as Groups;
