import type { Tensor } from '@acc/native';
import { HalfMatrix } from './formats/half.js';
import { Int4Matrix } from './formats/int4.js';
import { Int8Matrix } from './formats/int8.js';
import { Nf4Matrix } from './formats/nf4.js';
import type { Granularity, PackedMatrix } from './formats/packed-matrix.js';
import type { WeightSettings } from './options.js';
import { isOnCpu, type ChannelAxis } from './storage.js';

/** Packs a float32 matrix `[channels, others]`, which it borrows. */
export function matrixOf(
  matrix: Tensor,
  { weights, granularity, algorithm, activations }: WeightSettings,
  axis: ChannelAxis,
): PackedMatrix {
  switch (weights) {
    case 'bf16':
    case 'fp16':
      return new HalfMatrix(matrix, weights);
    case 'int8':
      return new Int8Matrix(matrix, granularity, activations === 'dynamic');
    case 'int4':
      return new Int4Matrix(matrix, groupsIn(granularity), {
        algorithm,
        forProducts: axis === 'last' && isOnCpu(),
      });
    case 'nf4':
      return new Nf4Matrix(matrix, groupsIn(granularity));
  }
}

const groupsIn = (granularity: Granularity) => granularity as Exclude<Granularity, string>;
