import type { NativeDtype } from '@acc/contract';
import type { Granularity } from '@acc/kernels';
import { operator, type Tensor } from '@acc/native';
import {
  abs,
  add,
  amax,
  cast,
  clampScalar,
  div,
  divScalar,
  FEW_ROWS,
  indexSelect,
  inGroups,
  mul,
  reshape,
  round,
  shortProduct,
  sub,
  transpose,
} from './operators.js';
import type { InputRange, MatrixShape, PackedMatrix } from './packed-matrix.js';
import { joinRecords, recordLength, splitRecords, type RecordPart } from './records.js';

const weightProduct = operator('aten::_weight_int8pack_mm');
const intProduct = operator('aten::_int_mm');
const ones = operator('aten::ones');
const contiguous = operator('aten::contiguous');
const expand = operator('aten::expand');
const narrow = operator('aten::narrow');
const clone = operator('aten::clone');
const sum = operator('aten::sum.dim_IntList');

export const LARGEST = 127;
/** The smallest magnitude that a scale is made for. Smaller values become 0. */
export const LEAST_INT8 = 1e-30;
/** Of columns, for which libtorch's weight-only kernel is written. It reads beyond others. */
const COLUMNS_STEP = 32;

/** The parts of a record. The scale of a whole tensor is in each record. */
export const int8Parts = (granularity: Granularity, columns: number): RecordPart[] => [
  { dtype: 'int8', length: recordLength(granularity, columns) },
  { dtype: 'float32', length: 1 },
];

/** How an int8 matrix is packed. */
export interface Int8Options {
  readonly granularity: Granularity;
  /** Whether products round `x` to int8 too, by a scale for each of its rows. */
  readonly dynamic: boolean;
  /** The range by which products round `x` to int8, where they do. */
  readonly range?: InputRange | undefined;
}

/**
 * Symmetric int8: w ≈ q · scale, scale = max |w| / 127, q = w / scale, rounded to the nearest even,
 * in [-127, 127].
 */
export class Int8Matrix implements PackedMatrix {
  readonly dtype = 'int8';
  readonly granularity: Granularity;
  /**
   * The numbers int8 `[rows, columns]`, and scales float32 `[rows or 1, groups, 1]`. With a range, also the sums of
   * the rows of numbers, int32 `[rows]`.
   */
  readonly tensors: readonly [Tensor, Tensor, ...Tensor[]];
  readonly #dynamic: boolean;
  readonly #range: InputRange | undefined;

  /** @param tensors The numbers and scales, which it takes over. */
  constructor(tensors: readonly [Tensor, Tensor], { granularity, dynamic, range }: Int8Options) {
    this.granularity = granularity;
    this.tensors = range ? [...tensors, sum(tensors[0], [1], false, 'int32')] : tensors;
    this.#dynamic = dynamic;
    this.#range = range;
  }

  /** @param given Scales in place of those of the largest magnitudes. Borrowed. */
  static of(matrix: Tensor, options: Int8Options, given?: Tensor): Int8Matrix {
    const { granularity } = options;
    using grouped = inGroups(matrix, recordLength(granularity, matrix.shape[1]!));
    const scales = given ? clone(given) : int8ScalesOf(grouped, granularity === 'tensor' ? [0, 1, 2] : [2]);
    using numbers = rounded(grouped, scales);
    return new Int8Matrix([reshape(numbers, matrix.shape as number[]), scales], options);
  }

  /** @param numbers From -127 to 127, of any dtype, `[rows, columns]`. Borrowed, like the scales. */
  static ofNumbers(numbers: Tensor, scales: Tensor, options: Int8Options): Int8Matrix {
    return new Int8Matrix([cast(numbers, 'int8'), clone(scales)], options);
  }

  static from(records: Tensor, [rows, columns]: MatrixShape, options: Int8Options): Int8Matrix {
    const { granularity } = options;
    const [numbers, scales] = splitRecords(records, int8Parts(granularity, columns)) as [Tensor, Tensor];
    using flat = numbers;
    using each = scales;
    using first = granularity === 'tensor' ? narrow(each, 0, 0, 1) : each.alias();
    using own = clone(first);
    const shape = granularity === 'tensor' ? [1, 1, 1] : [rows, -1, 1];
    return new Int8Matrix([reshape(flat, [rows, columns]), reshape(own, shape)], options);
  }

  records(): Tensor {
    const [numbers, scales] = this.tensors;
    const length = recordLength(this.granularity, numbers.shape[1]!);
    using flat = reshape(numbers, [-1, length]);
    using each = reshape(scales, [-1, 1]);
    using all = expand(each, [flat.shape[0]!, 1]);
    using dense = contiguous(all);
    return joinRecords([flat, dense]);
  }

  values(): Tensor {
    const [numbers, scales] = this.tensors;
    using grouped = inGroups(numbers, this.#group);
    using values = mul(grouped, scales);
    return reshape(values, numbers.shape as number[]);
  }

  product(x: Tensor): Tensor | undefined {
    if (this.tensors[1].shape[1] !== 1) return undefined;
    if (this.#range) return this.#staticProduct(x, this.#range);
    if (this.#dynamic) return this.#intProduct(x);
    return x.shape[0]! <= FEW_ROWS && x.shape[1]! % COLUMNS_STEP === 0
      ? this.#weightProduct(x)
      : this.#shortProduct(x);
  }

  rows(indices: Tensor): Tensor {
    const [numbers, scales] = this.tensors;
    using found = indexSelect(numbers, 0, indices);
    using grouped = inGroups(found, this.#group);
    using ofRows = scales.shape[0] === 1 ? scales.alias() : indexSelect(scales, 0, indices);
    using values = mul(grouped, ofRows);
    return reshape(values, found.shape as number[]);
  }

  get #group(): number {
    return this.tensors[0].shape[1]! / this.tensors[1].shape[1]!;
  }

  /**
   * libtorch's kernel for float32 `x` is a loop over single numbers, so `x` is bfloat16. The kernel's own
   * scales are bfloat16, so they are 1 here.
   */
  #weightProduct(x: Tensor): Tensor {
    const [numbers] = this.tensors;
    using short = cast(x, 'bfloat16');
    using units = ones([numbers.shape[0]!], 'bfloat16');
    using product = weightProduct(short, numbers, units);
    return this.#scaled(product, x.dtype);
  }

  /** The sums of float16 `x` and whole numbers may exceed float16, so they are scaled in bfloat16. */
  #shortProduct(x: Tensor): Tensor {
    using short = cast(x, 'bfloat16');
    using product = shortProduct(short, this.tensors[0]);
    return this.#scaled(product, x.dtype);
  }

  /** The sums of products of whole numbers are exact. */
  #intProduct(x: Tensor): Tensor {
    const [numbers] = this.tensors;
    using wide = cast(x, 'float32');
    using scalesOfX = int8ScalesOf(wide, [1]);
    using numbersOfX = rounded(wide, scalesOfX);
    using turned = transpose(numbers);
    using sums = intProduct(numbersOfX, turned);
    using product = mul(sums, scalesOfX);
    return this.#scaled(product, x.dtype);
  }

  /**
   * One scale for `x`, whose numbers are from -128 to 127, and one of which is 0. The sums of products of whole
   * numbers are exact.
   */
  #staticProduct(x: Tensor, range: InputRange): Tensor {
    const [numbers, , sums] = this.tensors;
    using read = range.read();
    const { scale, zero } = read;
    using wide = cast(x, 'float32');
    using numbersOfX = roundedTo(wide, scale, zero);
    using turned = transpose(numbers);
    using products = intProduct(numbersOfX, turned);
    using whole = cast(zero, 'int32');
    using ofZero = mul(sums!, whole);
    using exact = sub(products, ofZero);
    using scales = reshape(this.tensors[1], [-1]);
    using both = mul(scales, scale);
    using values = mul(exact, both);
    return cast(values, x.dtype);
  }

  /** Times the scale of each channel, as `dtype`. */
  #scaled(product: Tensor, dtype: NativeDtype): Tensor {
    using scales = reshape(this.tensors[1], [-1]);
    using values = mul(product, scales);
    return cast(values, dtype);
  }
}

/** The scale of the values along `dims`, which the result has with length 1. */
export function int8ScalesOf(values: Tensor, dims: number[]): Tensor {
  using magnitudes = abs(values);
  using largest = amax(magnitudes, dims, true);
  using atLeast = clampScalar(largest, LEAST_INT8, null);
  return divScalar(atLeast, LARGEST);
}

/** values / scale + zero as int8. */
function roundedTo(values: Tensor, scale: Tensor, zero: Tensor): Tensor {
  using scaled = div(values, scale);
  using whole = round(scaled);
  using moved = add(whole, zero);
  using limited = clampScalar(moved, -LARGEST - 1, LARGEST);
  return cast(limited, 'int8');
}

/** values / scales as int8. */
function rounded(values: Tensor, scales: Tensor): Tensor {
  using scaled = div(values, scales);
  using whole = round(scaled);
  using limited = clampScalar(whole, -LARGEST, LARGEST);
  return cast(limited, 'int8');
}
