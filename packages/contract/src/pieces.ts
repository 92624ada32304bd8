import type { DataType, TensorInfo } from '@tensorflow/tfjs-core';

/** How a tensor is made of pieces, which are all of one shape and dtype. */
export type PieceLayout =
  /**
   * With `outer` · `length` · rest elements in row-major order, whatever its shape, each of n pieces has
   * `outer` · `length` / n · rest of them: its own of the `length` rows, in each of the `outer` repetitions.
   */
  | { readonly kind: 'rows'; readonly outer: number; readonly length: number }
  /** `scale` times the sum of the pieces, added up pair by pair. */
  | { readonly kind: 'sum'; readonly scale: number };

/** Where rows lie in a shape: in dim `dim`, which holds them `times` times, one repetition after the other. */
export interface RowsAt {
  readonly dim: number;
  /** Repetitions within the dim; those of the dims before come on top. */
  readonly times: number;
}

/** Where in a tensor of shape `shape` the rows of a layout lie; undefined where a reshape has taken them apart. */
export function rowsAt(
  shape: readonly number[],
  { outer, length }: { readonly outer: number; readonly length: number },
): RowsAt | undefined {
  let before = 1;
  for (const [dim, size] of shape.entries()) {
    const times = outer / before;
    if (Number.isInteger(times) && size > 0 && size % (times * length) === 0) return { dim, times };
    before *= size;
  }
  return undefined;
}

/** The repetitions of rows that lie at `at` in a tensor of shape `shape`: the `outer` of their layout. */
export function repetitionsOf(shape: readonly number[], { dim, times }: RowsAt): number {
  return shape.slice(0, dim).reduce((product, size) => product * size, times);
}

/** `shape` with `count` times fewer rows at `at`. */
export function withoutOthersRows(shape: readonly number[], { dim }: RowsAt, count: number): number[] {
  return shape.map((size, i) => (i === dim ? size / count : size));
}

/** What a tensor is made of. */
export interface Pieces {
  readonly layout: PieceLayout;
  /** In their order. Borrowed: they live as long as the tensor. */
  readonly pieces: readonly TensorInfo[];
}

/** What a new tensor in pieces looks like from outside. */
export interface PiecedInfo {
  readonly shape: number[];
  readonly dtype: DataType;
  readonly layout: PieceLayout;
}

/** Tensors whose values lie in pieces, and are joined when somebody asks for them as a whole. */
export interface PiecesLayer {
  /** A tensor made of `pieces`, which it takes over. One piece is the whole tensor. */
  hold(info: PiecedInfo, pieces: readonly TensorInfo[]): TensorInfo;
  /** From now on the data of `x` also consists of `count` pieces, each with as many rows along dim 0. */
  divide(x: TensorInfo, count: number): void;
  /** What the data of `x` is made of; undefined for what is only whole. */
  of(x: TensorInfo): Pieces | undefined;
  /** Copies of what would be the pieces of `x`, a whole tensor, each of shape `shape`. The caller's. */
  cut(
    x: TensorInfo,
    cut: { readonly outer: number; readonly count: number; readonly shape: number[] },
  ): TensorInfo[];
  /** The values of `x`, in a tensor that is whole. The caller's. */
  join(x: TensorInfo): TensorInfo;
}
