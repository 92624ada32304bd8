import type { Tensor, TensorInfo } from '@tensorflow/tfjs-core';
import type { ShardedInfo, ShardLayout } from './shards.js';

/** The shard of a tensor that this rank has. The other shards are on other ranks. */
export interface LocalShard {
  readonly layout: ShardLayout;
  /** Borrowed: it lives as long as the tensor. */
  readonly shard: TensorInfo;
}

/** The shards that this rank has, and the exchange that gets the others. */
export interface LocalShardsOptions {
  /** The number of shards of every tensor in shards. */
  readonly count: number;
  /** The place of this rank's shard among them. */
  readonly index: number;
  /**
   * Makes the whole tensor when it is read. All ranks of the shards do so. The caller owns the
   * result.
   */
  join(shard: LocalShard, shape: readonly number[]): Tensor;
}

/** The owner of the shard of a tensor. */
export interface ShardOwner {
  /** The shard now. Throws if it was freed. */
  shard(): TensorInfo;
  isFreed(): boolean;
}

/**
 * Holds tensors of which this rank has one shard. They have the shape of the whole tensor. Layouts
 * of rows have as many rows as there are shards: each shard is one of `count` equal parts of every
 * repetition.
 */
export interface LocalShards {
  /** Creates a tensor in shards. It takes over this rank's `shard`. */
  hold(info: ShardedInfo, shard: TensorInfo): TensorInfo;
  /** Creates a tensor in shards whose shard belongs to somebody else, who may exchange it. */
  follow(info: ShardedInfo, owner: ShardOwner): TensorInfo;
  /** The shard of `x`. Undefined if this rank has the whole tensor. */
  of(x: TensorInfo): LocalShard | undefined;
  /** The layout of the shards of `x`, without looking for the shard. Undefined as in {@link of}. */
  layoutOf(x: TensorInfo): ShardLayout | undefined;
  /**
   * Whether this rank's shard of a whole tensor can be copied. False for tensors without values, and
   * for results whose gradient reads more than their values.
   */
  canCut(x: TensorInfo): boolean;
  /** Copies this rank's shard, of shape `shape`, of a whole tensor. The caller owns it. */
  cut(x: TensorInfo, cut: { readonly outer: number; readonly shape: number[] }): TensorInfo;
  /** Makes `x`, which has a shard, a whole tensor. Takes over `whole`, which may have another shape. */
  fill(x: TensorInfo, full: TensorInfo): void;
  /** Makes `x` a tensor in shards, or gives it another shard. Takes over `shard`. */
  replace(x: TensorInfo, layout: ShardLayout, shard: TensorInfo): void;
  /** The number of tensors that share the data of `x`. */
  holders(x: TensorInfo): number;
  /** Frees the whole values that a read of `x`, which has a shard, has gathered. */
  release(x: TensorInfo): void;
}
