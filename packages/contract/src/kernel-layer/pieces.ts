import type { DataType, TensorInfo } from '@tensorflow/tfjs-core';

/** How a tensor consists of pieces, which all have one shape and dtype. */
export type PieceLayout =
  /**
   * The tensor has `outer` · `length` · rest elements in row-major order, whatever its shape. Each
   * of n pieces has `outer` · `length` / n · rest of them: its own share of the `length` rows, in
   * each of the `outer` repetitions.
   */
  | {
      readonly kind: 'rows';
      readonly outer: number;
      readonly length: number;
      /** Whether a kernel that needs the whole tensor may gather it from other ranks. Default false. */
      readonly gathers?: boolean;
    }
  /** The tensor is `scale` times the sum of the pieces, which are added pairwise. */
  | { readonly kind: 'sum'; readonly scale: number };

/**
 * The position of rows in a shape: dim `dim` holds them `times` times, one repetition after
 * another.
 */
export interface RowsAt {
  readonly dim: number;
  /** The number of repetitions within the dim. The dims before it repeat them further. */
  readonly times: number;
}

/**
 * The position of a layout's rows in a tensor of shape `shape`. Undefined if a reshape has split
 * the rows.
 */
export function rowsAt(
  shape: readonly number[],
  { outer, length }: { readonly outer: number; readonly length: number },
): RowsAt | undefined {
  let before = 1;
  for (let dim = 0; dim < shape.length; dim++) {
    const size = shape[dim]!;
    const times = outer / before;
    if (Number.isInteger(times) && size > 0 && size % (times * length) === 0) return { dim, times };
    before *= size;
  }
  return undefined;
}

/**
 * The number of repetitions of rows at a position in a tensor of shape `shape`: the `outer` of
 * their layout.
 */
export function repetitionsOf(shape: readonly number[], { dim, times }: RowsAt): number {
  let outer = times;
  for (let i = 0; i < dim; i++) outer *= shape[i]!;
  return outer;
}

/** `shape` with the rows at a position divided by `count`. */
export function withoutOthersRows(shape: readonly number[], { dim }: RowsAt, count: number): number[] {
  const own = shape.slice();
  own[dim] = own[dim]! / count;
  return own;
}

/** The pieces of a tensor. */
export interface Pieces {
  readonly layout: PieceLayout;
  /** The pieces in order. They are borrowed, and live as long as the tensor. */
  readonly pieces: readonly TensorInfo[];
}

/** The shape and dtype of a new tensor in pieces. */
export interface PiecedInfo {
  readonly shape: number[];
  readonly dtype: DataType;
  readonly layout: PieceLayout;
}

/** Holds tensors whose values are in pieces. The pieces are joined when the whole tensor is read. */
export interface PiecesLayer {
  /**
   * Creates a tensor from `pieces` and takes ownership of them. A single piece is the whole tensor.
   */
  hold(info: PiecedInfo, pieces: readonly TensorInfo[]): TensorInfo;
  /**
   * Divides the data of `x` into `count` pieces with the same number of rows along dim 0. `x` also
   * keeps its data.
   */
  divide(x: TensorInfo, count: number): void;
  /** The pieces of the data of `x`. Undefined if it has none. */
  of(x: TensorInfo): Pieces | undefined;
  /**
   * Copies the parts of the whole tensor `x` that its pieces would hold, each of shape `shape`. The
   * caller owns them.
   */
  cut(
    x: TensorInfo,
    cut: { readonly outer: number; readonly count: number; readonly shape: number[] },
  ): TensorInfo[];
  /** A whole tensor with the values of `x`. The caller owns it. */
  join(x: TensorInfo): TensorInfo;
}
