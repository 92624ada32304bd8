import { operator, operatorInPlace, type Tensor } from '@acc/native';
import { recordLength } from '../formats/records.js';
import { cast, div, indexSelect, sub, transpose } from '../formats/operators.js';
import { factorOf, type Factor, type FactorOptions } from './factor.js';
import { gridOf, inGrid, type Grid, type GridFormat } from './grid.js';

const contiguous = operator('aten::contiguous');
const narrow = operator('aten::narrow');
const select = operator('aten::select.int');
const stack = operator('aten::stack');
const argsort = operator('aten::argsort');
const cat = operator('aten::cat');
const addOuter = operatorInPlace('aten::addr_');
const addProduct = operatorInPlace('aten::addmm_');

/** Columns whose errors are moved one by one. Later columns get them by one product. Groups divide it. */
const BLOCK = 128;

export interface GptqOptions extends GridFormat, FactorOptions {}

/** The numbers of a matrix and what they stand for. */
export interface GptqResult extends Disposable {
  /** Float64 `[rows, columns]`. */
  readonly numbers: Tensor;
  /** Float32 `[rows or 1, groups, 1]`. */
  readonly scales: Tensor;
  /** The same, for int4. */
  readonly zeros: Tensor | undefined;
}

/**
 * GPTQ (Frantar et al. 2022): columns are rounded one after the other, and the error of each is moved to those that
 * are not rounded yet, so that the results of the product change least. With `actOrder`, columns whose inputs are
 * largest come first, and the scales are those of the values before; otherwise a group gets its scales when its
 * first column is rounded.
 *
 * @param matrix Float32 `[rows, columns]`. Borrowed.
 * @param hessian Float64 `[columns, columns]`. Borrowed.
 */
export function gptq(matrix: Tensor, hessian: Tensor, options: GptqOptions): GptqResult {
  using factor = factorOf(hessian, options);
  using columns = columnsOf(matrix, factor.order);
  const group = recordLength(options.granularity, matrix.shape[1]!);
  using grids = new Grids(matrix, columns, { format: options, group, order: factor.order });
  const numbers: Tensor[] = [];
  try {
    for (let from = 0; from < columns.shape[0]!; from += BLOCK) {
      numbers.push(...roundedBlock(columns, factor, { from, grids }));
    }
    using stacked = stack(numbers, 0);
    using ordered = factor.order ? inFirstOrder(stacked, factor.order) : stacked.alias();
    using turned = transpose(ordered);
    return resultOf(contiguous(turned), grids.all());
  } finally {
    for (const each of numbers) each.dispose();
  }
}

/** Float64 `[columns, rows]`, with values that may change. */
function columnsOf(matrix: Tensor, order: Tensor | undefined): Tensor {
  using turned = transpose(matrix);
  using wide = cast(turned, 'float64');
  using dense = contiguous(wide);
  return order ? indexSelect(dense, 0, order) : dense.alias();
}

function inFirstOrder(columns: Tensor, order: Tensor): Tensor {
  using places = argsort(order);
  return indexSelect(columns, 0, places);
}

function resultOf(
  numbers: Tensor,
  { scales, zeros }: { scales: Tensor; zeros: Tensor | undefined },
): GptqResult {
  return {
    numbers,
    scales,
    zeros,
    [Symbol.dispose]() {
      for (const tensor of [numbers, scales, zeros]) tensor?.dispose();
    },
  };
}

interface Place {
  /** The first column of the block. */
  readonly from: number;
  readonly grids: Grids;
}

/** Rounds the columns of a block, and moves their errors to all later ones. Returns their numbers. */
function roundedBlock(columns: Tensor, { upper }: Factor, { from, grids }: Place): Tensor[] {
  const count = Math.min(BLOCK, columns.shape[0]! - from);
  const rest = columns.shape[0]! - from - count;
  const [numbers, errors]: [Tensor[], Tensor[]] = [[], []];
  try {
    for (let i = from; i < from + count; i++) {
      using values = select(columns, 0, i);
      const grid = grids.of(i);
      const found = inGrid(values, grid);
      numbers.push(found.numbers);
      using rounded = found.rounded;
      using difference = sub(values, rounded);
      using row = select(upper, 0, i);
      using pivot = select(row, 0, i);
      errors.push(div(difference, pivot));
      const later = from + count - i - 1;
      if (later === 0) continue;
      using weights = narrow(row, 0, i + 1, later);
      using others = narrow(columns, 0, i + 1, later);
      addOuter(others, weights, errors.at(-1)!, 1, -1);
    }
    if (rest > 0) moveOn(columns, upper, { errors, from, count });
    return numbers;
  } catch (error) {
    for (const each of numbers) each.dispose();
    throw error;
  } finally {
    for (const each of errors) each.dispose();
  }
}

interface BlockErrors {
  readonly errors: readonly Tensor[];
  readonly from: number;
  readonly count: number;
}

function moveOn(columns: Tensor, upper: Tensor, { errors, from, count }: BlockErrors): void {
  const rest = columns.shape[0]! - from - count;
  using block = narrow(upper, 0, from, count);
  using weights = narrow(block, 1, from + count, rest);
  using turned = transpose(weights);
  using all = stack([...errors], 0);
  using others = narrow(columns, 0, from + count, rest);
  addProduct(others, turned, all, 1, -1);
}

interface GridsOptions {
  readonly format: GridFormat;
  readonly group: number;
  readonly order: Tensor | undefined;
}

/** The grids of the groups of a matrix. */
class Grids implements Disposable {
  readonly #made: Grid[] = [];
  /** The group of each column. */
  readonly #groups: readonly number[];

  constructor(
    matrix: Tensor,
    private readonly columns: Tensor,
    private readonly options: GridsOptions,
  ) {
    const { group, order } = options;
    const places = order ? [...(order.read() as BigInt64Array)].map(Number) : undefined;
    const count = matrix.shape[1]!;
    this.#groups = Array.from({ length: count }, (_, i) => Math.floor((places?.[i] ?? i) / group));
    if (!order && group < count) return;
    using before = columnsOf(matrix, undefined);
    for (let from = 0; from < count; from += group) this.#make(before, from);
  }

  #make(columns: Tensor, from: number): void {
    using values = narrow(columns, 0, from, this.options.group);
    this.#made.push(gridOf(values, this.options.format));
  }

  /** The grid of the column at a place in the order. */
  of(i: number): Grid {
    const group = this.#groups[i]!;
    if (group >= this.#made.length) this.#make(this.columns, i);
    return this.#made[group]!;
  }

  /** As they are stored. The caller disposes them. */
  all(): { readonly scales: Tensor; readonly zeros: Tensor | undefined } {
    const scales = cat(
      this.#made.map((grid) => grid.scales),
      1,
    );
    const zeros = this.#made.flatMap((grid) => grid.zeros ?? []);
    return { scales, zeros: zeros.length > 0 ? cat(zeros, 1) : undefined };
  }

  [Symbol.dispose](): void {
    for (const grid of this.#made.splice(0)) grid[Symbol.dispose]();
  }
}
