import {
  concat,
  div,
  gather,
  mean,
  mul,
  pad,
  reshape,
  slice,
  split,
  sqrt,
  square,
  stack,
  sum,
  tensor1d,
  tidy,
  unsortedSegmentSum,
  unstack,
  zeros,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { ShardedUpdate, ShardRange, Update } from '@acc/kernels/optimizer-steps';

/** Sums and means that Adafactor computes from all elements of a weight. */
export interface FullSums {
  /** The means of g² + ε₁ over the last dim and over the dim before, flat. Undefined for vectors. */
  readonly means: readonly [rows: Tensor, columns: Tensor] | undefined;
  /** The sum of w². */
  readonly weightSquares: Tensor;
}

/** An update of a weight of which this rank has a contiguous range of elements, or none. */
export interface ShardUpdate {
  readonly update: Update;
  readonly range: ShardRange;
}

/**
 * The sums over whole weights, by one sum over ranks. For each matrix of n rows and m columns, n + m
 * numbers travel.
 *
 * @param squaresOf Returns g² + ε₁ of this rank's elements, `[length]`.
 */
export function fullSumsOf(
  updates: readonly ShardUpdate[],
  squaresOf: (update: Update) => Tensor,
  sharded: ShardedUpdate,
): FullSums[] {
  const own = updates.map(({ update, range }) =>
    tidy(() => {
      const weightSquares = reshape(sum(square(update.variable)), [1]);
      const means = isFactored(range) ? partialMeans(squaresOf(update), rowsOf(range)) : [];
      return [weightSquares, ...means];
    }),
  );
  const all = split(
    sharded.sum(concat(own.flat())),
    own.flat().map(({ size }) => size),
  );
  let at = 0;
  return own.map((parts) => {
    const [weightSquares, ...means] = all.slice(at, (at += parts.length));
    return {
      weightSquares: weightSquares!,
      means: means.length > 0 ? (means as [Tensor, Tensor]) : undefined,
    };
  });
}

/** The sum over whole tensors of the squares of each, by one sum over ranks. Scalars. */
export function fullSquares(own: readonly Tensor[], sharded: ShardedUpdate): Tensor[] {
  return unstack(sharded.sum(stack(own.map((each) => sum(square(each))))));
}

/**
 * √v of this rank's elements, `[length]`, from the factors of the whole weight.
 *
 * @param r `[…, n]`.
 * @param c `[…, m]`.
 */
export function rootOfShard(r: Tensor, c: Tensor, range: ShardRange): Tensor {
  const rows = rowsOf(range);
  const { matrices, columns, first, count, before } = rows;
  const shares = reshape(sqrt(div(r, mean(r, -1, true))), [-1, 1]);
  const ofColumns = reshape(sqrt(c), [matrices, columns]);
  const grid = mul(
    slice(shares, [first, 0], [count, 1]),
    matrices === 1 ? ofColumns : gather(ofColumns, matrixOfRows(rows)),
  );
  return slice(reshape(grid, [-1]), [before], [range.end - range.begin]);
}

export const isFactored = ({ shape }: { readonly shape: readonly number[] }): boolean => shape.length >= 2;

/** The rows of a weight, of all its matrices one below the other, in which a range lies. */
interface Rows {
  readonly matrices: number;
  /** Of each matrix. */
  readonly rows: number;
  readonly columns: number;
  /** The first row with elements of the range, and their number. */
  readonly first: number;
  readonly count: number;
  /** The number of elements of the first row before the range, and of the last row after it. */
  readonly before: number;
  readonly after: number;
}

function rowsOf({ shape, begin, end }: ShardRange): Rows {
  const [rows, columns] = shape.slice(-2) as [number, number];
  const matrices = shape.slice(0, -2).reduce((product, size) => product * size, 1);
  const first = Math.floor(begin / columns);
  const count = begin === end ? 0 : Math.ceil(end / columns) - first;
  const before = count === 0 ? 0 : begin - first * columns;
  return { matrices, rows, columns, first, count, before, after: count * columns - before - (end - begin) };
}

/** This rank's terms of the means over rows and over columns, of all rows and columns of the weight. */
function partialMeans(squares: Tensor, place: Rows): [rows: Tensor, columns: Tensor] {
  const { matrices, rows, columns, first, count, before, after } = place;
  if (count === 0) return [zeros([matrices * rows]), zeros([matrices * columns])];
  const isEven = before === 0 && after === 0;
  const grid = reshape(isEven ? squares : pad(squares, [[before, after]]), [count, columns]);
  const ofRows = pad(sum(grid, 1), [[first, matrices * rows - first - count]]);
  const ofColumns = matrices === 1 ? sum(grid, 0) : unsortedSegmentSum(grid, matrixOfRows(place), matrices);
  return [div(ofRows, columns), div(reshape(ofColumns, [-1]), rows)];
}

/** The matrix of each row in which the range lies. */
function matrixOfRows({ rows, first, count }: Rows): ReturnType<typeof tensor1d> {
  return tensor1d(
    Array.from({ length: count }, (_, i) => Math.floor((first + i) / rows)),
    'int32',
  );
}
