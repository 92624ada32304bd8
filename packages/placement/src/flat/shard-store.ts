import type { NamedTensorMap, Optimizer, Tensor } from '@tensorflow/tfjs-core';
import type { DeferredTensor } from '@acc/contract';
import type { GradientLists } from '../placer.js';
import type { Shard } from './shard.js';

/** An update by an optimizer of shards that are not in memory. */
export interface StoredUpdate {
  readonly optimizer: Optimizer;
  /** This rank's elements, by the names of the variables. */
  readonly grads: NamedTensorMap;
  /** The shards of each unit. */
  readonly units: readonly (readonly Shard[])[];
  readonly apply: () => void;
}

/** A gradient that is not in memory. */
export interface StoredGradient {
  /** Keeps the gradient while the tensor is not disposed. */
  addUser(user: DeferredTensor): void;
}

/** The elements of a variable that a rank has. */
export type StoredShard = Pick<Shard, 'local'>;

/** Keeps shards, their gradients or their optimizer state elsewhere than in memory between uses. */
export interface ShardStore<G extends StoredGradient = StoredGradient> extends GradientLists {
  /** Moves the parameters of a new unit out of memory. */
  moveOut(shards: readonly StoredShard[]): void;
  /** Starts to read the parameters of a unit that will be gathered. */
  readAhead(shards: readonly StoredShard[]): void;
  /** Runs `fn` while the parameters of a unit are in memory, to be read. */
  withParameters<T>(shards: readonly StoredShard[], fn: () => T): T;
  /**
   * Moves complete gradients of this rank's elements out of memory. They are disposed. The results
   * read them when they are used.
   */
  moveGradients(grads: readonly Tensor[]): Tensor[];
  /** The gradient that a tensor of {@link moveGradients} stands for, if it is not in memory. */
  gradientOf(grad: Tensor): G | undefined;
  /** A tensor that stands for a gradient. The caller disposes it. */
  tensorOf(stored: G): Tensor;
  /** Runs an optimizer's update. */
  update(update: StoredUpdate): void;
}
