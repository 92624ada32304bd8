import type { DataType, TensorInfo } from '@tensorflow/tfjs-core';

/** How a tensor consists of shards, which all have one shape and dtype. */
export type ShardLayout =
  /**
   * The tensor has `outer` · `length` · rest elements in row-major order, whatever its shape. Each
   * of n shards has `outer` · `length` / n · rest of them: its own share of the `length` rows, in
   * each of the `outer` repetitions.
   */
  | {
      readonly kind: 'rows';
      readonly outer: number;
      readonly length: number;
      /** Whether a kernel that needs the whole tensor may gather it from other ranks. Default false. */
      readonly gathers?: boolean;
    }
  /** The tensor is `scale` times the sum of the shards, which are added pairwise. */
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
export function localRowsShape(shape: readonly number[], { dim }: RowsAt, count: number): number[] {
  const own = shape.slice();
  own[dim] = own[dim]! / count;
  return own;
}

/** The shards of a tensor. */
export interface TensorShards {
  readonly layout: ShardLayout;
  /** The shards in order. They are borrowed, and live as long as the tensor. */
  readonly shards: readonly TensorInfo[];
}

/** The shape and dtype of a new tensor in shards. */
export interface ShardedInfo {
  readonly shape: number[];
  readonly dtype: DataType;
  readonly layout: ShardLayout;
}

/** Holds tensors whose values are in shards. The shards are joined when the whole tensor is read. */
export interface ShardsLayer {
  /**
   * Creates a tensor from `shards` and takes ownership of them. A single shard is the whole tensor.
   */
  hold(info: ShardedInfo, shards: readonly TensorInfo[]): TensorInfo;
  /**
   * Divides the data of `x` into `count` shards with the same number of rows along dim 0. `x` also
   * keeps its data.
   */
  divide(x: TensorInfo, count: number): void;
  /** The shards of the data of `x`. Undefined if it has none. */
  of(x: TensorInfo): TensorShards | undefined;
  /**
   * Copies the parts of the whole tensor `x` that its shards would hold, each of shape `shape`. The
   * caller owns them.
   */
  cut(
    x: TensorInfo,
    cut: { readonly outer: number; readonly count: number; readonly shape: number[] },
  ): TensorInfo[];
  /** A whole tensor with the values of `x`. The caller owns it. */
  join(x: TensorInfo): TensorInfo;
}
