import { operator, tensorFrom, type Tensor } from '@acc/native';
import {
  abs,
  amax,
  cast,
  clampScalar,
  indexSelect,
  inGroups,
  mul,
  reciprocal,
  reshape,
} from './operators.js';
import { packNibbles } from './nibbles.js';
import type { MatrixShape, PackedMatrix } from './packed-matrix.js';
import { joinRecords, splitRecords, type Groups, type RecordPart } from './records.js';

const bucketize = operator('aten::bucketize.Tensor');

/** Quantiles of a normal distribution (Dettmers et al. 2023, QLoRA), as bitsandbytes has them. */
export const NF4_CODE = [
  ...[-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453],
  ...[-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0],
  ...[0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224],
  ...[0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1],
].map(Math.fround);

/** The smallest divisor, a normal float. Groups of smaller values become 0. */
const LEAST = 1.2e-38;

/** Float32 sums and halves, as libtorch computes them. */
const BOUNDS = NF4_CODE.slice(1).map((value, i) => Math.fround(Math.fround(value + NF4_CODE[i]!) / 2));

/** The parts of a record, which is a group. */
export const nf4Parts = ({ group }: Groups): RecordPart[] => [
  { dtype: 'uint8', length: group / 2 },
  { dtype: 'float32', length: 1 },
];

/**
 * 4-bit NormalFloat: w ≈ code[q] · max |w| of its group. The bytes and the values are those of
 * bitsandbytes, bit for bit.
 */
export class Nf4Matrix implements PackedMatrix {
  readonly dtype = 'nf4';

  /**
   * @param tensors Pairs of numbers, uint8 `[rows, columns / 2]`, and the largest magnitudes float32
   * `[rows, groups, 1]`.
   */
  constructor(
    readonly tensors: readonly [Tensor, Tensor],
    readonly granularity: Groups,
  ) {}

  static of(matrix: Tensor, granularity: Groups): Nf4Matrix {
    using grouped = inGroups(matrix, granularity.group);
    using magnitudes = abs(grouped);
    const largest = amax(magnitudes, [2], true);
    using numbers = numbersOf(grouped, largest);
    using flat = reshape(numbers, matrix.shape as number[]);
    return new Nf4Matrix([packNibbles(flat), largest], granularity);
  }

  static from(records: Tensor, [rows, columns]: MatrixShape, granularity: Groups): Nf4Matrix {
    const [bytes, scales] = splitRecords(records, nf4Parts(granularity)) as [Tensor, Tensor];
    using flat = bytes;
    using largest = scales;
    return new Nf4Matrix([reshape(flat, [rows, columns / 2]), reshape(largest, [rows, -1, 1])], granularity);
  }

  records(): Tensor {
    const [bytes, largest] = this.tensors;
    using flat = reshape(bytes, [-1, this.granularity.group / 2]);
    using scales = reshape(largest, [-1, 1]);
    return joinRecords([flat, scales]);
  }

  values(): Tensor {
    return this.#valuesOf(...this.tensors);
  }

  rows(indices: Tensor): Tensor {
    using bytes = indexSelect(this.tensors[0], 0, indices);
    using largest = indexSelect(this.tensors[1], 0, indices);
    return this.#valuesOf(bytes, largest);
  }

  /** Looks up both values of a byte at once. */
  #valuesOf(bytes: Tensor, largest: Tensor): Tensor {
    const [rows, half] = bytes.shape as [number, number];
    using table = tensorFrom(PAIRS, 'float32', [256, 2]);
    using flat = reshape(bytes, [-1]);
    using indices = cast(flat, 'int32');
    using pairs = indexSelect(table, 0, indices);
    const { group } = this.granularity;
    using grouped = reshape(pairs, [rows, (2 * half) / group, group]);
    using values = mul(grouped, largest);
    return reshape(values, [rows, 2 * half]);
  }
}

/** The numbers of the nearest codes, uint8. */
function numbersOf(grouped: Tensor, largest: Tensor): Tensor {
  using atLeast = clampScalar(largest, LEAST, null);
  using factor = reciprocal(atLeast);
  using scaled = mul(grouped, factor);
  using limited = clampScalar(scaled, -1, 1);
  using bounds = tensorFrom(Float32Array.from(BOUNDS), 'float32', [BOUNDS.length]);
  using numbers = bucketize(limited, bounds, true, false);
  return cast(numbers, 'uint8');
}

const PAIRS = Float32Array.from({ length: 512 }, (_, i) => NF4_CODE[i % 2 === 0 ? i >> 5 : (i >> 1) & 15]!);
