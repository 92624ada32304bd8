import { operator, type Tensor } from '@acc/native';
import {
  addcmul,
  amax,
  amin,
  cast,
  indexSelect,
  inGroups,
  mulScalar,
  reshape,
  shortProduct,
} from './operators.js';
import { improvedGroups } from './hqq.js';
import { groupsBetween, numbersIn, type Int4Groups } from './int4-groups.js';
import { isTiled, MOST_TILED_ROWS, tile, tiledProduct, untile } from './int4-tiles.js';
import { packNibbles, unpackNibbles } from './nibbles.js';
import type { MatrixShape, PackedMatrix } from './packed-matrix.js';
import { joinRecords, splitRecords, type Groups, type RecordPart } from './records.js';

const stack = operator('aten::stack');
const select = operator('aten::select.int');
const transposeDims = operator('aten::transpose.int');
const contiguous = operator('aten::contiguous');
const subScalar = operator('aten::sub.Scalar');

export interface Int4Options {
  readonly granularity: Groups;
  /** Whether products with few rows are to be fast. Lookups of rows then unpack the whole matrix. */
  readonly forProducts: boolean;
}

/** The parts of a record, which is a group: its numbers, its scale and its zero. */
export const int4Parts = ({ group }: Groups): RecordPart[] => [
  { dtype: 'uint8', length: group / 2 },
  { dtype: 'bfloat16', length: 2 },
];

/**
 * Asymmetric int4 as torchao has it: w ≈ (q - 8) · scale + zero. The groups' scales and zeros are bfloat16,
 * q is rounded to the nearest even in [0, 15].
 */
export class Int4Matrix implements PackedMatrix {
  readonly dtype = 'int4';
  readonly granularity: Groups;
  /**
   * Pairs of numbers, uint8 `[rows, columns / 2]` or as libtorch's kernel wants them, and bfloat16
   * `[groups, rows, 2]`: scales and zeros.
   */
  readonly tensors: readonly [Tensor, Tensor];
  readonly #tiled: boolean;
  readonly #shape: MatrixShape;

  /**
   * @param numbers uint8 `[rows, columns]`. Borrowed.
   * @param scalesAndZeros bfloat16 `[groups, rows, 2]`, which it takes over.
   */
  private constructor(numbers: Tensor, scalesAndZeros: Tensor, { granularity, forProducts }: Int4Options) {
    this.granularity = granularity;
    this.#shape = numbers.shape as unknown as MatrixShape;
    this.#tiled = forProducts && isTiled(this.#shape);
    this.tensors = [this.#tiled ? tile(numbers) : packNibbles(numbers), scalesAndZeros];
  }

  static of(matrix: Tensor, algorithm: 'nearest' | 'hqq', options: Int4Options): Int4Matrix {
    using grouped = inGroups(matrix, options.granularity.group);
    using groups = nearestGroups(grouped);
    using better = algorithm === 'hqq' ? improvedGroups(grouped, groups) : undefined;
    using numbers = numbersIn(grouped, better ?? groups);
    using flat = reshape(numbers, matrix.shape as number[]);
    return new Int4Matrix(flat, joined(better ?? groups), options);
  }

  /** Numbers around 0: w ≈ (q - 8) · scale. @param scales float32 `[rows, groups, 1]`, exact in bfloat16. */
  static scaled(matrix: Tensor, scales: Tensor, options: Int4Options): Int4Matrix {
    using grouped = inGroups(matrix, options.granularity.group);
    using zeros = mulScalar(scales, 0);
    using numbers = numbersIn(grouped, { scales, zeros });
    using flat = reshape(numbers, matrix.shape as number[]);
    return new Int4Matrix(flat, joined({ scales, zeros }), options);
  }

  /** @param numbers From 0 to 15, of any dtype, `[rows, columns]`. Borrowed, like the groups. */
  static ofNumbers(numbers: Tensor, groups: Int4Groups, options: Int4Options): Int4Matrix {
    using bytes = cast(numbers, 'uint8');
    return new Int4Matrix(bytes, joined(groups), options);
  }

  static from(records: Tensor, [rows, columns]: MatrixShape, options: Int4Options): Int4Matrix {
    const [bytes, pairs] = splitRecords(records, int4Parts(options.granularity)) as [Tensor, Tensor];
    using packed = bytes;
    using flat = pairs;
    using ofRows = reshape(packed, [rows, columns / 2]);
    using numbers = unpackNibbles(ofRows);
    using grouped = reshape(flat, [rows, -1, 2]);
    using turned = transposeDims(grouped, 0, 1);
    return new Int4Matrix(numbers, contiguous(turned), options);
  }

  records(): Tensor {
    const [bytes, scalesAndZeros] = this.tensors;
    using numbers = this.#tiled ? untile(bytes, this.#shape) : undefined;
    using packed = numbers ? packNibbles(numbers) : bytes.alias();
    using flat = reshape(packed, [-1, this.granularity.group / 2]);
    using turned = transposeDims(scalesAndZeros, 0, 1);
    using dense = contiguous(turned);
    using pairs = reshape(dense, [-1, 2]);
    return joinRecords([flat, pairs]);
  }

  values(): Tensor {
    using numbers = this.#tiled ? untile(this.tensors[0], this.#shape) : unpackNibbles(this.tensors[0]);
    return this.#valuesOf(numbers, this.tensors[1]);
  }

  product(x: Tensor): Tensor {
    const [numbers, scalesAndZeros] = this.tensors;
    if (this.#tiled && x.shape[0]! <= MOST_TILED_ROWS) {
      return tiledProduct(x, numbers, { group: this.granularity.group, scalesAndZeros });
    }
    using values = this.values();
    return shortProduct(x, values);
  }

  rows(indices: Tensor): Tensor {
    if (this.#tiled) {
      using values = this.values();
      return indexSelect(values, 0, indices);
    }
    using bytes = indexSelect(this.tensors[0], 0, indices);
    using numbers = unpackNibbles(bytes);
    using scalesAndZeros = indexSelect(this.tensors[1], 1, indices);
    return this.#valuesOf(numbers, scalesAndZeros);
  }

  #valuesOf(numbers: Tensor, scalesAndZeros: Tensor): Tensor {
    using grouped = inGroups(numbers, this.granularity.group);
    using centered = shifted(grouped);
    using scales = part(scalesAndZeros, 0);
    using zeros = part(scalesAndZeros, 1);
    using values = addcmul(zeros, centered, scales);
    return reshape(values, numbers.shape as number[]);
  }
}

/** q - 8 as float32. */
function shifted(numbers: Tensor): Tensor {
  using wide = cast(numbers, 'float32');
  return subScalar(wide, 8);
}

/** Scales or zeros, float32 `[rows, groups, 1]`. */
function part(scalesAndZeros: Tensor, index: 0 | 1): Tensor {
  const [groups, rows] = scalesAndZeros.shape as [number, number, number];
  using chosen = select(scalesAndZeros, 2, index);
  using turned = transposeDims(chosen, 0, 1);
  using wide = cast(turned, 'float32');
  return reshape(wide, [rows, groups, 1]);
}

/** bfloat16 `[groups, rows, 2]`. */
function joined({ scales, zeros }: Int4Groups): Tensor {
  const [rows, groups] = scales.shape as [number, number, number];
  using both = stack([scales, zeros], -1);
  using pairs = reshape(both, [rows, groups, 2]);
  using turned = transposeDims(pairs, 0, 1);
  using dense = contiguous(turned);
  return cast(dense, 'bfloat16');
}

function nearestGroups(grouped: Tensor): Int4Groups & Disposable {
  using least = amin(grouped, [2], true);
  using largest = amax(grouped, [2], true);
  return groupsBetween(least, largest);
}
